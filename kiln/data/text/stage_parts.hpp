// Helpers that several stages of a tokenizer share.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kiln/core/error/shown.hpp"
#include "kiln/data/text/json_view.hpp"
#include "kiln/data/text/output_limit.hpp"
#include "kiln/data/text/pattern/pattern.hpp"
#include "kiln/data/text/unicode.hpp"

namespace kiln::tokens {

/// Replaces each `from` in the text by `to`.
inline std::string replaced(std::string_view text, std::string_view from, std::string_view to,
                            const OutputLimit& limit) {
  std::string out;
  std::size_t at = 0;
  for (std::size_t next; !from.empty() && (next = text.find(from, at)) != std::string_view::npos;
       at = next + from.size()) {
    out.append(text.substr(at, next - at)).append(to);
    limit.allow(out.size());
  }
  return out.append(text.substr(at));
}

/// Replaces each match of the pattern by `to`.
inline std::string replaced(std::string_view text, const Pattern& from, std::string_view to, const OutputLimit& limit) {
  std::string out;
  for (const PatternPart& part : from.parts(text)) {
    out += part.matches ? to : part.text;
    limit.allow(out.size());
  }
  return out;
}

/// A sequence of stages, from a member that lists them.
template <class Stage, class Read>
Stage sequence(const View& json, std::string_view member, Read read) {
  constexpr std::size_t kMost = 256;
  json.only({"type", member});
  std::vector<Stage> stages;
  const View list = json.need(member);
  if (list.list().size() > kMost)
    list.refuse("has ", list.list().size(), " stages, more than the ", kMost, " that are supported");
  for (std::size_t i = 0; i < list.list().size(); ++i) stages.push_back(read(list.element(i)));
  return [stages = std::move(stages)](auto value, const OutputLimit& limit) {
    for (const auto& stage : stages) value = stage(std::move(value), limit);
    return value;
  };
}

enum class Prepend { Always, First, Never };

/// The texts before which "▁" is added, as for a space; older files use another key.
inline Prepend prepend_scheme(const View& json) {
  const View scheme = json["prepend_scheme"], older = json["add_prefix_space"];
  if (scheme.is_null()) return older.flag_or(true) ? Prepend::Always : Prepend::Never;
  if (!older.flag_or(true) && scheme.text() != "never") older.refuse("is false, which contradicts 'prepend_scheme'");
  if (scheme.text() == "always") return Prepend::Always;
  if (scheme.text() == "first") return Prepend::First;
  if (scheme.text() == "never") return Prepend::Never;
  scheme.refuse("is '", shown(scheme.text()), "', not always, first or never");
}

/// The sign for a space.
inline std::string metaspace_of(const View& json) {
  const std::string sign = json.need("replacement").text();
  if (sign.empty() || unicode::decode(sign, 0).bytes != sign.size())
    json.refuse("replaces spaces by '", shown(sign), "'");
  return sign;
}

}  // namespace kiln::tokens
