// Pre-tokenizers: how a tokenizer splits a text before its model sees it.
#include <algorithm>
#include <utility>

#include "kiln/core/error/shown.hpp"
#include "kiln/data/text/pattern/pattern.hpp"
#include "kiln/data/text/split.hpp"
#include "kiln/data/text/stage_parts.hpp"
#include "kiln/data/text/stages.hpp"
#include "kiln/data/text/unicode.hpp"

namespace kiln::tokens {
namespace {

using Parts = std::vector<PatternPart>;

/// Splits each piece by a function.
template <class Cut>
Split each(Cut cut) {
  return [cut](const std::vector<TextPiece>& pieces, const OutputLimit&) {
    std::vector<TextPiece> smaller;
    for (const auto& [text, first] : pieces)
      for (const std::string_view part : cut(std::string_view(text)))
        if (!part.empty()) smaller.push_back({std::string(part), first && part.data() == text.data()});
    return smaller;
  };
}
/// A stage without options that splits by a function of kiln/data/text/split.hpp.
Split plain(const View& json, Pieces (*cut)(std::string_view)) {
  json.only({"type"});
  return each(cut);
}

/// What happens to the matches between pieces.
enum class Behaviour { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous };

Behaviour behaviour_of(const View& said) {
  constexpr std::string_view kNames[] = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"};
  const auto* const found = std::ranges::find(kNames, std::string_view(said.text()));
  if (found == std::end(kNames)) said.refuse("is '", shown(said.text()), "', which is no way to cut");
  return static_cast<Behaviour>(found - std::begin(kNames));
}

/// Joins adjacent parts of one text.
std::string_view joined(std::string_view a, std::string_view b) { return {a.data(), a.size() + b.size()}; }

Pieces cut_at(const Parts& parts, Behaviour behaviour) {
  Pieces pieces;
  bool before = false;  // did the previous part match; or, with MergedWithNext, the following one?
  const auto add = [&](const PatternPart& part, bool joins) {
    if (joins && !pieces.empty()) pieces.back() = joined(pieces.back(), part.text);
    else pieces.push_back(part.text);
    before = part.matches;
  };
  switch (behaviour) {
    case Behaviour::Removed:
      for (const PatternPart& part : parts)
        if (!part.matches) pieces.push_back(part.text);
      break;
    case Behaviour::Isolated:
      for (const PatternPart& part : parts) pieces.push_back(part.text);
      break;
    case Behaviour::Contiguous:
      for (const PatternPart& part : parts) add(part, part.matches == before);
      break;
    case Behaviour::MergedWithPrevious:
      for (const PatternPart& part : parts) add(part, part.matches && !before);
      break;
    case Behaviour::MergedWithNext:
      for (std::size_t i = parts.size(); i-- > 0;) {
        const PatternPart& part = parts[i];
        if (part.matches && !before && !pieces.empty()) pieces.back() = joined(part.text, pieces.back());
        else pieces.push_back(part.text);
        before = part.matches;
      }
      std::ranges::reverse(pieces);
  }
  return pieces;
}

/// Parts of one code point each for which `is` holds, and runs of the others.
template <class Is>
Parts points(std::string_view text, Is is) {
  Parts parts;
  for (std::size_t at = 0; at < text.size();) {
    const auto [point, bytes] = unicode::decode(text, at);
    const bool matches = is(point);
    if (!matches && !parts.empty() && !parts.back().matches)
      parts.back().text = joined(parts.back().text, text.substr(at, bytes));
    else parts.push_back({text.substr(at, bytes), matches});
    at += bytes;
  }
  return parts;
}

/// Replaces spaces by signs that belong to the words after them.
Split metaspace(const View& json) {
  json.only({"type", "replacement", "str_rep", "prepend_scheme", "add_prefix_space", "split"});
  return [sign = metaspace_of(json), scheme = prepend_scheme(json), cut = json["split"].flag_or(true)](
             std::vector<TextPiece> pieces, const OutputLimit& limit) {
    std::vector<TextPiece> words;
    for (auto& [piece, first] : pieces) {
      piece = replaced(piece, " ", sign, limit);
      const bool before = scheme == Prepend::Always || (scheme == Prepend::First && first);
      if (before && !piece.empty() && !piece.starts_with(sign)) piece.insert(0, sign);
      for (std::size_t at = 0; !piece.empty();) {
        const std::size_t next = cut ? piece.find(sign, at + 1) : std::string::npos;
        words.push_back({piece.substr(at, next - at), std::exchange(first, false)});
        if (next == std::string::npos) break;
        at = next;
      }
    }
    return words;
  };
}

Split byte_level(const View& json) {
  json.only({"type", "add_prefix_space", "use_regex", "trim_offsets"});
  json["trim_offsets"].flag_or(true);  // concerns offsets of tokens in the text, which are not supported
  const bool space = json["add_prefix_space"].flag_or(true), cut = json["use_regex"].flag_or(true);
  return [space, cut](std::vector<TextPiece> pieces, const OutputLimit& limit) {
    std::vector<TextPiece> words;
    std::size_t bytes = 0;
    for (auto& [piece, first] : pieces) {
      if (space && !piece.starts_with(' ')) piece.insert(0, 1, ' ');
      for (const std::string_view word : cut ? split_gpt2(piece) : Pieces{piece}) {
        words.push_back({bytes_to_letters(word), std::exchange(first, false)});
        limit.allow(bytes += words.back().text.size());
      }
    }
    return words;
  };
}

Split by_pattern(const View& json) {
  json.only({"type", "pattern", "behavior", "invert"});
  return each([pattern = Pattern::read(json), behaviour = behaviour_of(json.need("behavior")),
               invert = json["invert"].flag_or(false)](std::string_view text) {
    Parts parts = pattern.parts(text);
    if (invert)
      for (PatternPart& part : parts) part.matches = !part.matches;
    return cut_at(parts, behaviour);
  });
}

/// Pieces of `length` code points.
Split fixed_length(const View& json) {
  json.only({"type", "length"});
  const std::int64_t length = json["length"].is_null() ? 5 : json["length"].number();
  if (length == 0) json.refuse("cuts into pieces of length 0");
  return each([length](std::string_view text) {
    Pieces pieces;
    std::size_t begin = 0;
    std::int64_t count = 0;
    for (std::size_t at = 0; at < text.size();) {
      at += unicode::decode(text, at).bytes;
      if (++count < length && at < text.size()) continue;
      pieces.push_back(text.substr(begin, at - begin));
      begin = at, count = 0;
    }
    return pieces;
  });
}

}  // namespace

Split read_pre_tokenizer(const View& json) {
  if (json.is_null()) return [](std::vector<TextPiece> pieces, const OutputLimit&) { return pieces; };
  const std::string type = json.type();
  if (type == "Metaspace") return metaspace(json);
  if (type == "Sequence") return sequence<Split>(json, "pretokenizers", read_pre_tokenizer);
  if (type == "BertPreTokenizer") return plain(json, split_bert);
  if (type == "Whitespace") return plain(json, split_words);
  if (type == "WhitespaceSplit") return plain(json, split_spaces);
  if (type == "ByteLevel") return byte_level(json);
  if (type == "Split") return by_pattern(json);
  if (type == "FixedLength") return fixed_length(json);
  if (type == "Punctuation") {
    json.only({"type", "behavior"});
    const View said = json["behavior"];
    const Behaviour behaviour = said.is_null() ? Behaviour::Isolated : behaviour_of(said);
    return each([behaviour](std::string_view text) { return cut_at(points(text, is_bert_punctuation), behaviour); });
  }
  if (type == "Digits") {
    json.only({"type", "individual_digits"});
    const Behaviour behaviour = json["individual_digits"].flag_or(false) ? Behaviour::Isolated : Behaviour::Contiguous;
    return each([behaviour](std::string_view text) { return cut_at(points(text, unicode::is_numeric), behaviour); });
  }
  if (type == "CharDelimiterSplit") {
    json.only({"type", "delimiter"});
    const std::string sign = json.need("delimiter").text();
    if (sign.empty() || unicode::decode(sign, 0).bytes != sign.size())
      json.refuse("has '", shown(sign), "' for one letter");
    return each([delimiter = unicode::decode(sign, 0).point](std::string_view text) {
      return cut_at(points(text, [delimiter](char32_t point) { return point == delimiter; }), Behaviour::Removed);
    });
  }
  if (type == "UnicodeScripts")
    json.refuse(
        "cuts where scripts change, which is not supported; cut by Metaspace or by a pattern of \\p{Han} and the "
        "like");
  json.refuse("is a pre-tokenizer '", shown(type), "', which is not supported");
}

}  // namespace kiln::tokens
