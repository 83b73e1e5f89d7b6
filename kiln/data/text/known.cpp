// Tokenizers from files other than tokenizer.json, which are converted to that format.
#include <algorithm>
#include <charconv>

#include "kiln/core/error/memory_error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/file.hpp"
#include "kiln/data/table/lines.hpp"
#include "kiln/data/text/described.hpp"
#include "kiln/data/text/split.hpp"
#include "kiln/data/text/tokenizer.hpp"
#include "kiln/data/text/unicode.hpp"

namespace kiln {

using Object = Json::Object;

Json tokens::byte_level() {
  return {
      Object{{"type", {"ByteLevel"}}, {"add_prefix_space", {false}}, {"trim_offsets", {true}}, {"use_regex", {true}}}};
}

Json tokens::added(const std::string& text, std::int64_t id) {
  return {Object{{"id", {id}},
                 {"content", {text}},
                 {"single_word", {false}},
                 {"lstrip", {false}},
                 {"rstrip", {false}},
                 {"normalized", {false}},
                 {"special", {true}}}};
}

Json::Object tokens::numbered(const std::vector<std::string>& tokens) {
  Object ids;
  for (const std::string& token : tokens) ids.emplace_back(token, Json{std::ssize(ids)});
  return ids;
}

Json::List tokens::special(std::string_view who, const std::vector<std::string>& tokens) {
  Json::List list;
  for (const std::string& token : tokens) {
    require<ArgumentError>(!token.empty() && std::ranges::count(tokens, token) == 1, who, ": the special token '",
                           token, "' is empty or named twice");
    list.push_back(added(token, std::ssize(list)));
  }
  return list;
}

Json tokens::described(Json model, Json normalizer, Json pre_tokenizer, Json post_processor, Json decoder,
                       Json::List added) {
  return {Object{{"version", {"1.0"}},
                 {"truncation", {}},
                 {"padding", {}},
                 {"added_tokens", {std::move(added)}},
                 {"normalizer", std::move(normalizer)},
                 {"pre_tokenizer", std::move(pre_tokenizer)},
                 {"post_processor", std::move(post_processor)},
                 {"decoder", std::move(decoder)},
                 {"model", std::move(model)}}};
}

Json tokens::byte_pairs(Object vocabulary, Json::List merges) {
  return {Object{{"type", {"BPE"}},
                 {"dropout", {}},
                 {"unk_token", {}},
                 {"continuing_subword_prefix", {}},
                 {"end_of_word_suffix", {}},
                 {"fuse_unk", {false}},
                 {"byte_fallback", {false}},
                 {"vocab", {std::move(vocabulary)}},
                 {"merges", {std::move(merges)}}}};
}

Tokenizer Tokenizer::gpt2(const std::string& vocabulary, const std::string& merges) try {
  Json ids;
  as_data([&] { ids = parse_json(read_text_file(vocabulary), vocabulary); });
  auto* const object = std::get_if<Object>(&ids.is);
  require<DataError>(object, vocabulary, ": must be an object of tokens and their ids, got ", describe(ids));
  Json::List pairs, added;
  const TextLines lines(merges);
  for (std::int64_t i = 0; i < lines.size(); ++i)
    if (const std::string line = lines.get(i); !line.empty() && !(i == 0 && line.starts_with("#version")))
      pairs.push_back({line});
  for (const auto& [token, id] : *object)
    if (const auto* const number = std::get_if<std::int64_t>(&id.is); number && token == "<|endoftext|>")
      added.push_back(tokens::added(token, *number));
  return from_json(tokens::described(tokens::byte_pairs(std::move(*object), std::move(pairs)), {}, tokens::byte_level(),
                                     {}, tokens::byte_level(), std::move(added)),
                   text(vocabulary, " and ", merges));
} catch (...) { rethrow_as_memory_error(vocabulary); }

Tokenizer Tokenizer::bert(const std::string& vocabulary, bool lowercase) try {
  const TextLines lines(vocabulary);
  Object ids;
  Json::List added;
  std::int64_t first = -1, last = -1;
  for (std::int64_t id = 0; id < lines.size(); ++id) {
    const std::string token = lines.get(id);
    require<DataError>(!token.empty(), vocabulary, ":", id + 1, ": an empty line is no token");
    if (token == "[CLS]") first = id;
    if (token == "[SEP]") last = id;
    if (token == "[PAD]" || token == "[UNK]" || token == "[CLS]" || token == "[SEP]" || token == "[MASK]")
      added.push_back(tokens::added(token, id));
    ids.emplace_back(token, Json{id});
  }
  require<DataError>(first >= 0 && last >= 0, vocabulary, ": has no token [CLS], or no [SEP]");
  Json model{Object{{"type", {"WordPiece"}},
                    {"unk_token", {"[UNK]"}},
                    {"continuing_subword_prefix", {"##"}},
                    {"max_input_chars_per_word", {std::int64_t{100}}},
                    {"vocab", {std::move(ids)}}}};
  Json normalizer{Object{{"type", {"BertNormalizer"}},
                         {"clean_text", {true}},
                         {"handle_chinese_chars", {true}},
                         {"strip_accents", {}},
                         {"lowercase", {lowercase}}}};
  const auto pair = [](const char* token, std::int64_t id) { return Json{Json::List{{token}, {id}}}; };
  Json around{Object{{"type", {"BertProcessing"}}, {"sep", pair("[SEP]", last)}, {"cls", pair("[CLS]", first)}}};
  Json decoder{Object{{"type", {"WordPiece"}}, {"prefix", {"##"}}, {"cleanup", {true}}}};
  return from_json(tokens::described(std::move(model), std::move(normalizer), {Object{{"type", {"BertPreTokenizer"}}}},
                                     std::move(around), std::move(decoder), std::move(added)),
                   vocabulary);
} catch (...) { rethrow_as_memory_error(vocabulary); }

Tokenizer Tokenizer::bytes() try {
  std::vector<std::string> letters;
  for (int byte = 0; byte < 256; ++byte) letters.push_back(bytes_to_letters(std::string(1, static_cast<char>(byte))));
  return from_json(tokens::described(tokens::byte_pairs(tokens::numbered(letters), {}), {}, tokens::byte_level(), {},
                                     tokens::byte_level(), {}),
                   "bytes");
} catch (...) { rethrow_as_memory_error("tokenizer"); }

Tokenizer Tokenizer::characters(std::string_view texts) try {
  std::vector<bool> seen(0x110000);
  for (std::size_t at = 0; at < texts.size();) {
    const auto [point, bytes] = unicode::decode(texts, at);
    seen[point] = true;
    at += bytes;
  }
  Object ids;
  for (char32_t point = 0; point < seen.size(); ++point) {
    if (!seen[point]) continue;
    std::string letter;
    unicode::append(letter, point);
    ids.emplace_back(std::move(letter), Json{std::ssize(ids)});
  }
  return from_json(
      tokens::described(tokens::byte_pairs(std::move(ids), {}), {}, {}, {}, {Object{{"type", {"Fuse"}}}}, {}),
      "characters");
} catch (...) { rethrow_as_memory_error("tokenizer"); }

}  // namespace kiln
