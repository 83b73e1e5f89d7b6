// What several stages of a tokenizer are made of.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kiln/data/text/json_view.hpp"

namespace kiln::tokens {

/// Each `from` of the text as `to`.
inline std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  std::size_t at = 0;
  for (std::size_t next; !from.empty() && (next = text.find(from, at)) != std::string_view::npos;
       at = next + from.size())
    out.append(text.substr(at, next - at)).append(to);
  return out.append(text.substr(at));
}

/// One stage after the other, of a member that lists them.
template <class Stage, class Read>
Stage sequence(const View& json, std::string_view member, Read read) {
  std::vector<Stage> stages;
  const View list = json.need(member);
  for (std::size_t i = 0; i < list.list().size(); ++i) stages.push_back(read(list.element(i)));
  return [stages = std::move(stages)](auto value, auto... more) {
    for (const auto& stage : stages) value = stage(std::move(value), more...);
    return value;
  };
}

/// Of a stage that replaces, what it looks for.
inline std::string plain_pattern(const View& json) {
  const View pattern = json.need("pattern")["String"];
  if (pattern.is_null()) json.refuse("replaces by a regular expression, which is not known here");
  return pattern.text();
}

}  // namespace kiln::tokens
