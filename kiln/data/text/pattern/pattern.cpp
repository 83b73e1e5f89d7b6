#include "kiln/data/text/pattern/pattern.hpp"

#include <algorithm>

#include "kiln/data/text/pattern/engine.hpp"
#include "kiln/data/text/split.hpp"
#include "kiln/data/text/unicode.hpp"

namespace kiln::tokens {
namespace {

/// The begin and end of a match.
using Span = std::pair<std::size_t, std::size_t>;

/// The matches in order; an empty one that touches the match before it is ignored.
template <class Next>
std::vector<Span> matches_of(std::string_view text, Next next) {
  std::vector<Span> found;
  for (std::size_t from = 0; from <= text.size();) {
    const std::optional<Span> match = next(from);
    if (!match) break;
    if (match->first == match->second && !found.empty() && found.back().second == match->second) {
      if (from >= text.size()) break;
      from += unicode::decode(text, from).bytes;
      continue;
    }
    found.push_back(*match);
    from = match->second;
  }
  return found;
}

/// A text made valid UTF-8, and the original position of each of its bytes.
struct Repaired {
  std::string text;
  std::vector<std::size_t> from;  // one more than bytes

  explicit Repaired(std::string_view given) {
    for (std::size_t at = 0; at < given.size();) {
      const auto [point, bytes] = unicode::decode(given, at);
      unicode::append(text, point);
      from.resize(text.size(), at);
      at += bytes;
    }
    from.push_back(given.size());
  }
};

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto [point, bytes] = unicode::decode(text, at);
    if (point == unicode::kReplacement && bytes == 1) return false;
    at += bytes;
  }
  return true;
}

/// The pieces cover the whole text.
template <Pieces (*cut)(std::string_view)>
std::vector<PatternPart> all_of(std::string_view text) {
  std::vector<PatternPart> parts;
  for (const std::string_view piece : cut(text)) parts.push_back({piece, true});
  return parts;
}

/// Runs of two or more spaces: the only expression of SentencePiece's models.
std::vector<PatternPart> runs_of_spaces(std::string_view text) {
  std::vector<PatternPart> parts;
  std::size_t behind = 0;
  for (std::size_t at = 0; (at = text.find("  ", at)) != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_not_of(' ', at), text.size());
    if (at != behind) parts.push_back({text.substr(behind, at - behind), false});
    parts.push_back({text.substr(at, end - at), true});
    behind = at = end;
  }
  if (behind != text.size()) parts.push_back({text.substr(behind), false});
  return parts;
}

struct KnownPattern {
  std::string_view regex;
  std::vector<PatternPart> (*parts)(std::string_view);
};
constexpr KnownPattern kKnownPatterns[] = {
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", all_of<split_gpt2>},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     all_of<[](std::string_view text) { return split_gpt4(text, 3); }>},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     all_of<[](std::string_view text) { return split_gpt4(text, 1); }>},
    {" {2,}", runs_of_spaces}};

}  // namespace

Pattern Pattern::read(const View& stage) {
  const View pattern = stage.need("pattern");
  pattern.only({"String", "Regex"});
  const View plain = pattern["String"], regex = pattern["Regex"];
  if (plain.is_null() == regex.is_null()) pattern.refuse("must have either a 'String' or a 'Regex'");
  Pattern result;
  if (!plain.is_null()) {
    result.plain_ = plain.text();
    return result;
  }
  const auto* const known = std::ranges::find(kKnownPatterns, std::string_view(regex.text()), &KnownPattern::regex);
  if (known != std::end(kKnownPatterns)) result.known_ = known->parts;
  else result.engine_ = make_engine(regex, to_pcre2(regex));
  return result;
}

std::vector<PatternPart> Pattern::parts(std::string_view text) const {
  if (text.empty()) return {{text, false}};
  if (known_) return known_(text);
  std::vector<Span> found;
  if (!engine_) {
    found = matches_of(text, [&](std::size_t from) -> std::optional<Span> {
      const std::size_t at = text.find(plain_, from);
      if (at == std::string_view::npos) return std::nullopt;
      return Span{at, at + plain_.size()};
    });
  } else {
    std::optional<Repaired> repaired;
    if (!is_utf8(text)) repaired.emplace(text);
    const std::string_view sound = repaired ? std::string_view(repaired->text) : text;
    // Enough for patterns that backtrack over whole words and runs of spaces of any length; far less than one that
    // tries all ways.
    Engine::Search search{sound, 256 * std::uint64_t{sound.size()} + 10'000'000};
    found = matches_of(sound, [&](std::size_t from) { return engine_->next(search, from); });
    if (repaired)
      for (auto& [begin, end] : found) begin = repaired->from[begin], end = repaired->from[end];
  }
  std::vector<PatternPart> parts;
  std::size_t behind = 0;
  for (const auto& [begin, end] : found) {
    if (begin != behind) parts.push_back({text.substr(behind, begin - behind), false});
    parts.push_back({text.substr(begin, end - begin), true});
    behind = end;
  }
  if (behind != text.size()) parts.push_back({text.substr(behind), false});
  return parts;
}

}  // namespace kiln::tokens
