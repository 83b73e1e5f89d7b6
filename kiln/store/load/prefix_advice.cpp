#include "kiln/store/load/prefix_advice.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "kiln/core/error/shown.hpp"

namespace kiln::detail {
namespace {

/// A regular expression for the text itself.
std::string as_pattern(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

/// A text that a program is told to write: whole, unless nobody would.
std::string to_write(std::string_view text) { return text.size() <= 4096 ? escaped(text) : shown(text); }

}  // namespace

std::string prefix_advice(const TensorSource& record, const std::vector<RecordPart>& parts,
                          const LoadOptions& options) {
  std::set<std::string_view> expected;
  for (const RecordPart& part : parts) each_name(part, [&](const std::string& name) { expected.insert(name); });
  if (record.tensors.empty() || expected.empty()) return {};
  const auto prefix_of = [](std::string_view longer, std::string_view name) {
    if (longer.size() < name.size() + 2 || !longer.ends_with(name)) return std::string_view();
    longer.remove_suffix(name.size());
    return longer.ends_with('.') ? longer : std::string_view();
  };
  for (const std::string_view name : expected) {
    const auto prefix = prefix_of(name, record.tensors.begin()->first);
    const auto fits = [&](const auto& tensor) { return expected.contains(std::string(prefix) + tensor.first); };
    if (!prefix.empty() && std::ranges::all_of(record.tensors, fits)) {
      const std::string member(prefix.substr(0, prefix.size() - 1));
      const bool has_number = std::ranges::any_of(text('.', member), [before = ' '](char c) mutable {
        return std::exchange(before, c) == '.' && c >= '0' && c <= '9';
      });
      const std::string call = has_number ? "" : text(", load(model.", member, ", ...)");
      return text("all its names lack '", prefix, "': load into that member", call);
    }
  }
  for (const auto& [name, tensor] : record.tensors) {
    const auto prefix = prefix_of(name, parts[0].name);
    const auto fits = [&](const RecordPart& part) { return record.tensors.contains(std::string(prefix) + part.name); };
    if (prefix.empty() || !std::ranges::all_of(parts, fits)) continue;
    // `under` is removed before names are changed, so that it cannot name what a change made.
    if (!options.rename.empty() || options.pytorch_layers)
      return text("the module's names are all below '", shown(prefix), "' there, once they are changed: {R\"(^",
                  to_write(as_pattern(prefix)), ")\", \"\"} as the last of LoadOptions::rename removes it");
    return text("the module's names are all below '", shown(prefix), "' there: LoadOptions::under = \"",
                to_write(options.under), options.under.empty() ? "" : ".",
                to_write(prefix.substr(0, prefix.size() - 1)), "\" selects them");
  }
  return {};
}

}  // namespace kiln::detail
