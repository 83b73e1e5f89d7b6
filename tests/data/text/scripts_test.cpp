// Normalizers and pre-tokenizers against Hugging Face's on lines in a hundred scripts, and on each code point
// (scripts_figures.py).
#include <zlib.h>

#include <algorithm>

#include <gtest/gtest.h>

#include "kiln/core/file.hpp"
#include "kiln/data/text/stages.hpp"
#include "kiln/data/text/unicode.hpp"

namespace kiln {
namespace {

std::uint32_t crc_of(std::string_view text, std::uint32_t before = 0) {
  return static_cast<std::uint32_t>(
      crc32(before, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size())));
}

/// Thousands that are alike.
bool is_dense(char32_t point) {
  return (point >= 0x3400 && point < 0xd7a4) || (point >= 0xe000 && point < 0xf900) ||
         (point >= 0x17000 && point < 0x18d00) || (point >= 0x20000 && point < 0x32400);
}

/// scripts_texts.py has the same: each code point that may be assigned, of those that are alike one of 16; 64 in a
/// text.
std::vector<std::string> points() {
  std::vector<std::string> texts;
  int count = 0;
  for (char32_t point = 1; point < 0xe0200; ++point) {
    if (point == 0xd800) point = 0xe000;
    if (point == 0x32400) point = 0xe0000;
    if (is_dense(point) && point % 16 != 0) continue;
    if (count++ % 64 == 0) texts.emplace_back();
    for (const char* const before : {"a", "1", " ."}) {
      texts.back() += before;
      unicode::append(texts.back(), point);
    }
  }
  return texts;
}

const Json& member(const Json& json, std::string_view name) {
  return std::ranges::find(std::get<Json::Object>(json.is), name, &Json::Object::value_type::first)->second;
}

TEST(Scripts, OfEachStageAreHuggingFaces) {
  const std::string file = KILN_TEXTS "/scripts.json";
  const Json json = parse_json(read_text_file(file), file);
  const std::vector<std::string> all = points();
  int stages = 0;
  for (const Json& row : std::get<Json::List>(member(json, "stages").is)) {
    const std::string &name = std::get<std::string>(member(row, "name").is),
                      &kind = std::get<std::string>(member(row, "kind").is);
    const tokens::View view{&member(row, "stage"), {file, ""}};
    std::function<std::string(const std::string&)> output;
    try {
      if (kind == "normal")
        output = [stage = tokens::read_normalizer(view)](const std::string& text) {
          return stage(text, tokens::OutputLimit(text.size()));
        };
      else
        output = [stage = tokens::read_pre_tokenizer(view)](const std::string& text) {
          std::string pieces;
          for (const tokens::TextPiece& piece : stage({{text, true}}, tokens::OutputLimit(text.size())))
            pieces += piece.text + '\x1f';
          return pieces;
        };
    } catch (const DataError& error) {
      ASSERT_FALSE(KILN_HAS_PCRE2) << error.what();
      continue;
    }
    ++stages;
    const auto& lines = std::get<Json::List>(member(json, "lines").is);
    const auto& right = std::get<Json::List>(member(row, "lines").is);
    for (std::size_t i = 0; i < lines.size(); ++i)
      EXPECT_EQ(crc_of(output(std::get<std::string>(lines[i].is))), std::get<std::int64_t>(right[i].is))
          << kind << ' ' << name << ": " << std::get<std::string>(lines[i].is);
    std::uint32_t crc = 0;
    for (const std::string& text : all) crc = crc_of(output(text) + '\n', crc);
    EXPECT_EQ(crc, std::get<std::int64_t>(member(row, "points").is)) << kind << ' ' << name;
  }
  EXPECT_GE(stages, KILN_HAS_PCRE2 ? 40 : 25);
}

}  // namespace
}  // namespace kiln
