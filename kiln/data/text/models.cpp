#include "kiln/data/text/models.hpp"

#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "kiln/core/error/shown.hpp"

namespace kiln::tokens {
namespace {

TokenIds read_vocabulary(const View& json) {
  TokenIds ids;
  for (const auto& [token, id] : json.as<Json::Object>("an object"))
    ids.emplace(token, View{&id, json.place.field(token)}.number());
  return ids;
}

/// Models that search for the longest token take time proportional to a text's length times that of the longest token.
void require_short(const View& json, std::string_view token) {
  constexpr std::size_t kLongest = 4096;
  if (token.size() > kLongest)
    json.refuse("has a token of ", token.size(), " bytes, more than the ", kLongest, " that are supported");
}

std::optional<std::int64_t> id_of(const TokenIds& ids, const View& name) {
  if (name.is_null()) return std::nullopt;
  const auto found = ids.find(name.text());
  if (found == ids.end()) name.refuse("is '", shown(name.text()), "', which is no token");
  return found->second;
}

/// "a b", or ["a", "b"].
std::pair<std::string_view, std::string_view> read_pair(const View& json) {
  if (const auto* const text = std::get_if<std::string>(&json.json->is)) {
    const std::size_t space = text->find(' ');
    if (space == std::string::npos) json.refuse("must be two tokens, got '", shown(*text), "'");
    return {std::string_view(*text).substr(0, space), std::string_view(*text).substr(space + 1)};
  }
  if (json.list().size() != 2) json.refuse("must be two tokens, got ", json.list().size());
  return {json.element(0).text(), json.element(1).text()};
}

/// The rest of a later part of a word when it is joined to the part before.
std::string_view without_prefix(std::string_view part, std::string_view prefix) {
  return part.starts_with(prefix) ? part.substr(prefix.size()) : part;
}

BytePairs read_byte_pairs(const View& json) {
  json.only({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
             "byte_fallback", "ignore_merges", "vocab", "merges"});
  if (const View dropout = json["dropout"]; !dropout.is_null()) {
    const auto* const whole = std::get_if<std::int64_t>(&dropout.json->is);
    if ((whole ? static_cast<double>(*whole) : dropout.as<double>("a number")) != 0)
      dropout.refuse("leaves merges out at random, which is not supported; a tokenizer in use has null");
  }
  BytePairs model;
  model.prefix = json["continuing_subword_prefix"].text_or("");
  model.suffix = json["end_of_word_suffix"].text_or("");
  model.ids = read_vocabulary(json.need("vocab"));
  model.unknown = id_of(model.ids, json["unk_token"]);
  model.fuse_unknown = json["fuse_unk"].flag_or(false);
  model.byte_fallback = json["byte_fallback"].flag_or(false);
  model.whole_words = json["ignore_merges"].flag_or(false);
  const View merges = json.need("merges");
  for (std::size_t i = 0; i < merges.list().size(); ++i) {
    const View merge = merges.element(i);
    const auto [a, b] = read_pair(merge);
    const auto left = model.ids.find(a), right = model.ids.find(b),
               joined = model.ids.find(text(a, without_prefix(b, model.prefix)));
    if (left == model.ids.end() || right == model.ids.end() || joined == model.ids.end())
      merge.refuse("joins '", shown(a), "' and '", shown(b), "', of which one is not a token, or the result is not");
    model.add_merge(left->second, right->second, joined->second);
  }
  return model;
}

/// Reads pairs of a token and its score, numbered in order.
Unigram read_unigram(const View& json) {
  json.only({"type", "unk_id", "vocab", "byte_fallback"});
  Unigram model;
  const View vocabulary = json.need("vocab");
  for (std::size_t i = 0; i < vocabulary.list().size(); ++i) {
    const View entry = vocabulary.element(i);
    if (entry.list().size() != 2) entry.refuse("must be a token and its score");
    const View spelling = entry.element(0), score = entry.element(1);
    const auto* const whole = std::get_if<std::int64_t>(&score.json->is);
    const double value = whole ? static_cast<double>(*whole) : score.as<double>("a number");
    if (!std::isfinite(value)) score.refuse("is not finite");
    const std::string& token = spelling.text();
    require_short(spelling, token);
    if (model.ids.contains(token)) entry.refuse("is the second token '", shown(token), "'");
    model.add(token, value);
  }
  if (const View unknown = json["unk_id"]; !unknown.is_null()) {
    model.unknown = unknown.number();
    if (*model.unknown >= std::ssize(model.ids)) unknown.refuse("is ", *model.unknown, ", which is no token");
  }
  model.byte_fallback = json["byte_fallback"].flag_or(false);
  return model;
}

}  // namespace

Model read_model(const View& json) {
  const std::string type = json["type"].text_or("BPE");
  if (type == "Unigram") return read_unigram(json);
  if (type == "BPE") return read_byte_pairs(json);
  if (type == "WordPiece") {
    json.only({"type", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"});
    const TokenIds ids = read_vocabulary(json.need("vocab"));
    for (const auto& [token, id] : ids) require_short(json.need("vocab"), token);
    WordPieces model(ids, json["continuing_subword_prefix"].text_or("##"));
    model.unknown = *id_of(model.ids, json.need("unk_token"));
    if (const View most = json["max_input_chars_per_word"]; !most.is_null())
      model.longest = static_cast<std::size_t>(most.number());
    return model;
  }
  if (type == "WordLevel") {
    json.only({"type", "unk_token", "vocab"});
    WordLevel model;
    model.ids = read_vocabulary(json.need("vocab"));
    const auto unknown = model.ids.find(json["unk_token"].text_or("<unk>"));
    if (unknown != model.ids.end()) model.unknown = unknown->second;
    return model;
  }
  json.refuse("is a model '", shown(type), "', which is not supported; BPE, Unigram, WordPiece and WordLevel are");
}

}  // namespace kiln::tokens
