// What a tokenizer does to a text before it is cut.
#include <algorithm>
#include <memory>

#include "kiln/core/error/shown.hpp"
#include "kiln/data/text/charsmap.hpp"
#include "kiln/data/text/normal.hpp"
#include "kiln/data/text/split.hpp"
#include "kiln/data/text/stage_parts.hpp"
#include "kiln/data/text/stages.hpp"
#include "kiln/data/text/unicode.hpp"

namespace kiln::tokens {
namespace {

/// A run of two spaces or more as one text: the one regular expression of SentencePiece's models.
std::string spaces_replaced(std::string_view text, std::string_view to) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_not_of(' ', at), text.size());
    if (end - at >= 2) out += to;
    else out += text.substr(at, std::max<std::size_t>(end - at, 1));
    at = std::max(end, at + 1);
  }
  return out;
}

/// Without the spaces that it begins with (`left`), and those that it ends with (`right`).
std::string trimmed_spaces(const std::string& text, bool left, bool right) {
  std::size_t begin = 0, end = 0, behind = 0;
  bool begun = false;
  for (std::size_t at = 0; at < text.size();) {
    const auto [point, bytes] = unicode::decode(text, at);
    const bool space = unicode::is_space(point);
    if (!begun && space) begin = at + bytes;
    begun |= !space;
    at += bytes;
    if (!space) behind = at;
    end = at;
  }
  if (!left) begin = 0;
  if (right) end = std::max(behind, begin);
  return text.substr(begin, end - begin);
}

/// SentencePiece's cleaning: controls go, spaces of all kinds become " ".
std::string nmt_cleaned(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto [point, bytes] = unicode::decode(text, at);
    at += bytes;
    if ((point >= 1 && point <= 8) || point == 0xb || (point >= 0xe && point <= 0x1f) || point == 0x7f ||
        point == 0x8f || point == 0x9f)
      continue;
    const bool space = point == 9 || point == 0xa || point == 0xc || point == 0xd || point == 0x1680 ||
                       (point >= 0x200b && point <= 0x200f) || point == 0x2028 || point == 0x2029 || point == 0x2581 ||
                       point == 0xfeff || point == 0xfffd;
    unicode::append(out, space ? U' ' : point);
  }
  return out;
}

std::string accents_stripped(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto [point, bytes] = unicode::decode(text, at);
    at += bytes;
    if (!unicode::is_combining(point)) unicode::append(out, point);
  }
  return out;
}

}  // namespace

Rewrite read_normalizer(const View& json) {
  if (json.is_null()) return [](std::string text) { return text; };
  const std::string type = json.type();
  if (type == "Sequence") return sequence<Rewrite>(json, "normalizers", read_normalizer);
  if (type == "NFC") return [](std::string text) { return unicode::normalized(text, unicode::NormalForm::C); };
  if (type == "NFD") return [](std::string text) { return unicode::normalized(text, unicode::NormalForm::D); };
  if (type == "NFKC") return [](std::string text) { return unicode::normalized(text, unicode::NormalForm::KC); };
  if (type == "NFKD") return [](std::string text) { return unicode::normalized(text, unicode::NormalForm::KD); };
  if (type == "Nmt") return [](std::string text) { return nmt_cleaned(text); };
  if (type == "StripAccents") return [](std::string text) { return accents_stripped(text); };
  if (type == "Strip")
    return [left = json["strip_left"].flag_or(true), right = json["strip_right"].flag_or(true)](std::string text) {
      return trimmed_spaces(text, left, right);
    };
  if (type == "Precompiled") {
    const auto table = std::make_shared<const Charsmap>(json.need("precompiled_charsmap"));
    return [table](std::string text) { return table->rewritten(text); };
  }
  if (type == "Lowercase") return [](std::string text) { return lowercased(text); };
  if (type == "Prepend")
    return [prefix = json.need("prepend").text()](std::string text) { return text.empty() ? text : prefix + text; };
  if (type == "Replace") {
    const std::string to = json.need("content").text();
    if (const View regex = json.need("pattern")["Regex"]; !regex.is_null() && regex.text() == " {2,}")
      return [to](std::string text) { return spaces_replaced(text, to); };
    return [from = plain_pattern(json), to](std::string text) { return replaced(text, from, to); };
  }
  if (type == "BertNormalizer") {
    BertCleaning how{json["clean_text"].flag_or(true), json["handle_chinese_chars"].flag_or(true), false,
                     json["lowercase"].flag_or(true)};
    how.strip_accents = json["strip_accents"].flag_or(how.lowercase);
    return [how](std::string text) { return bert_cleaned(text, how); };
  }
  json.refuse("is a normalizer '", shown(type), "', which is not known here");
}

}  // namespace kiln::tokens
