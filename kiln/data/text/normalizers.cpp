// Normalizers: what a tokenizer does to a text before it is split.
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

/// Removes spaces at the beginning (`left`) and at the end (`right`).
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

/// SentencePiece's cleaning: removes control characters, and turns all kinds of spaces into " ".
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

/// A stage without options.
template <class Function>
Rewrite by_function(const View& json, Function function) {
  json.only({"type"});
  return [function](const std::string& text, const OutputLimit& limit) {
    std::string out = function(text);
    limit.allow(out.size());
    return out;
  };
}
Rewrite normal_form(const View& json, unicode::NormalForm form) {
  return by_function(json, [form](const std::string& text) { return unicode::normalized(text, form); });
}

Rewrite read_bert_cleaning(const View& json) {
  json.only({"type", "clean_text", "handle_chinese_chars", "strip_accents", "lowercase"});
  BertCleaning how{json["clean_text"].flag_or(true), json["handle_chinese_chars"].flag_or(true), false,
                   json["lowercase"].flag_or(true)};
  how.strip_accents = json["strip_accents"].flag_or(how.lowercase);
  return [how](const std::string& text, const OutputLimit& limit) {
    std::string out = bert_cleaned(text, how);
    limit.allow(out.size());
    return out;
  };
}

}  // namespace

Rewrite read_normalizer(const View& json) {
  if (json.is_null()) return [](std::string text, const OutputLimit&) { return text; };
  const std::string type = json.type();
  if (type == "Sequence") return sequence<Rewrite>(json, "normalizers", read_normalizer);
  if (type == "NFC") return normal_form(json, unicode::NormalForm::C);
  if (type == "NFD") return normal_form(json, unicode::NormalForm::D);
  if (type == "NFKC") return normal_form(json, unicode::NormalForm::KC);
  if (type == "NFKD") return normal_form(json, unicode::NormalForm::KD);
  if (type == "Nmt") return by_function(json, nmt_cleaned);
  if (type == "StripAccents") return by_function(json, accents_stripped);
  if (type == "Lowercase") return by_function(json, lowercased);
  if (type == "ByteLevel") return by_function(json, bytes_to_letters);
  if (type == "BertNormalizer") return read_bert_cleaning(json);
  if (type == "Strip") {
    json.only({"type", "strip_left", "strip_right"});
    return [left = json["strip_left"].flag_or(true), right = json["strip_right"].flag_or(true)](
               const std::string& text, const OutputLimit&) { return trimmed_spaces(text, left, right); };
  }
  if (type == "Precompiled") {
    json.only({"type", "precompiled_charsmap"});
    const auto table = std::make_shared<const Charsmap>(json.need("precompiled_charsmap"));
    return [table](const std::string& text, const OutputLimit& limit) { return table->rewritten(text, limit); };
  }
  if (type == "Prepend") {
    json.only({"type", "prepend"});
    return [prefix = json.need("prepend").text()](std::string text, const OutputLimit& limit) {
      limit.allow(text.size() + prefix.size());
      return text.empty() ? text : prefix + text;
    };
  }
  if (type == "Replace") {
    json.only({"type", "pattern", "content"});
    return [from = Pattern::read(json), to = json.need("content").text()](
               const std::string& text, const OutputLimit& limit) { return replaced(text, from, to, limit); };
  }
  json.refuse("is a normalizer '", shown(type), "', which is not supported");
}

}  // namespace kiln::tokens
