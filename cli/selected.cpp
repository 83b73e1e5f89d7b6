#include "cli/selected.hpp"

#include "kiln/core/config/config.hpp"
#include "kiln/nn/module/selects_none.hpp"
#include "kiln/store/format/edit.hpp"

namespace kiln::cli {
namespace {

Selector any_of(std::span<const std::string> said, std::string_view option) {
  std::vector<Selector> parts;
  for (const std::string& one : said)  // no glob has a quote after a brace, as JSON has
    parts.push_back(one.starts_with("{\"") ? Selector::from_json(parse_json(one, option), {option, ""})
                                           : Selector(one));
  return Selector::any_of(std::move(parts));
}

}  // namespace

TensorSource selected(const TensorSource& source, std::span<const std::string> only,
                      std::span<const std::string> except) {
  const Selector wanted = only.empty() ? Selector::all() : any_of(only, "--only");
  const Selector unwanted = any_of(except, "--except");
  std::vector<std::string_view> names;
  bool any = false;
  for (const auto& [name, tensor] : source.tensors) {
    names.push_back(name);
    any = any || wanted.matches(name);
  }
  if (!any && !only.empty()) nn::throw_selects_none("--only", wanted, "the file's tensors", names);
  return filtered(source, [&](const std::string& name) { return wanted.matches(name) && !unwanted.matches(name); });
}

}  // namespace kiln::cli
