// References in a program's text: what they say, and what is put in their place.
#pragma once
#include <cstdlib>
#include <string>

#include "kiln/onnx/generate/program.hpp"

namespace kiln::onnx::cpp {

inline constexpr char kPartMark = '\x03';  // a struct by its number, in statements that call its forward()

/// Calls f(mark, number) for each reference.
template <class F>
void each_mark(const std::string& text, F&& f) {
  for (std::size_t at = 0; (at = text.find_first_of("\x01\x02\x03", at)) != std::string::npos; ++at)
    f(text[at], std::atoi(text.c_str() + at + 1));
}

/// `text` with f(mark, number, before, after) in place of each reference; the letters around it.
template <class F>
std::string resolved(const std::string& text, F&& f) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] < '\x01' || text[at] > '\x03') {
      out += text[at];
      continue;
    }
    const std::size_t end = text.find(';', at);
    out += f(text[at], std::atoi(text.c_str() + at + 1), at ? text[at - 1] : '(',
             end + 1 < text.size() ? text[end + 1] : ')');
    at = end;
  }
  return out;
}

}  // namespace kiln::onnx::cpp
