// Identifiers and literals of C++ from a file's names and numbers. The text is nothing else, whatever the file contains.
#pragma once
#include <set>
#include <string>
#include <string_view>

#include "kiln/onnx/call.hpp"

namespace kiln::onnx::cpp {

/// "layer1_0_conv1": letters, digits and single underscores, no keyword, nothing that generated code says itself;
/// `otherwise` where nothing is left of the name.
std::string identifier(std::string_view name, std::string_view otherwise);
/// "Layer1Block" of "layer1_block".
std::string type_identifier(std::string_view name, std::string_view otherwise);
/// `name`, or with a number behind it, such that it is not among `taken`; from then on it is.
std::string unique(std::string name, std::set<std::string>& taken);

/// "\"a\\nb\"": ASCII, with octal escapes.
std::string literal(std::string_view words);
std::string literal(std::int64_t number);
/// The shortest literal that reads as the same number: "0.1f"; infinities and NaN by std::numeric_limits.
std::string literal(float number);
std::string literal(double number);
/// "{1, 2}"
std::string braces(const Ints& numbers);
/// "{1.5f, 2.0f}" of what there are literals of.
template <class List>
std::string listed(const List& list) {
  std::string out = "{";
  for (const auto& each : list) out += text(out.size() > 1 ? ", " : "", literal(each));
  return out + '}';
}
/// A name in a form that a comment of one line may contain.
std::string remark(std::string_view name);

/// Lines of at most 120 letters, broken behind commas outside of words.
std::string wrapped(const std::string& code);
/// `code` with every line that is not empty moved in by `letters`.
std::string indented(const std::string& code, int letters);

}  // namespace kiln::onnx::cpp
