#include "kiln/data/text/tokenizer.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "kiln/core/error/shortage.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/file.hpp"
#include "kiln/data/table/lines.hpp"
#include "kiln/data/text/models.hpp"
#include "kiln/data/text/stages.hpp"

namespace kiln {
namespace {

using tokens::View;

/// A token that is looked for in a text before all else.
struct Added {
  std::string text;
  std::int64_t id;
  bool special, strip_left, strip_right;
};

}  // namespace

struct Tokenizer::Parts {
  Json json;
  tokens::Rewrite normalize;
  tokens::Split split;
  tokens::Model model;
  tokens::Join join;
  std::vector<std::int64_t> before, behind;  // what stands around a text
  std::vector<Added> added;                  // longer ones first
  TokenIds ids;
  std::vector<std::string> texts;  // by id; empty where there is none
  std::vector<bool> special;       // by id

  /// The added token at byte `at`, or null.
  const Added* added_at(std::string_view text, std::size_t at) const {
    for (const Added& token : added)
      if (text.substr(at).starts_with(token.text)) return &token;
    return nullptr;
  }
};

namespace {

/// The ids around a text: ["[CLS]", 101] and the like.
void read_post_processor(const View& json, const TokenIds& ids, std::vector<std::int64_t>& before,
                         std::vector<std::int64_t>& behind) {
  if (json.is_null()) return;
  const std::string type = json.type();
  if (type == "ByteLevel") return;  // says where tokens stand in the text, which nobody asks here
  if (type == "Sequence") {
    const View list = json.need("processors");
    for (std::size_t i = 0; i < list.list().size(); ++i) read_post_processor(list.element(i), ids, before, behind);
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    for (const auto& [key, side] : {std::pair{"cls", &before}, std::pair{"sep", &behind}}) {
      const View pair = json.need(key);
      if (pair.list().size() != 2) pair.refuse("must be a token and its id");
      side->push_back(pair.element(1).number());
    }
  } else if (type == "TemplateProcessing") {
    const View pieces = json.need("single"), special = json.need("special_tokens");
    bool seen = false;
    for (std::size_t i = 0; i < pieces.list().size(); ++i) {
      const View piece = pieces.element(i);
      if (!piece["Sequence"].is_null()) {
        seen = true;
        continue;
      }
      const View name = piece.need("SpecialToken").need("id");
      const View own = special.need(name.text()).need("ids");
      for (std::size_t k = 0; k < own.list().size(); ++k) (seen ? behind : before).push_back(own.element(k).number());
    }
  } else {
    json.refuse("is a post-processor '", shown(type), "', which is not known here");
  }
}

std::vector<Added> read_added(const View& json) {
  std::vector<Added> added;
  if (json.is_null()) return added;
  for (std::size_t i = 0; i < json.list().size(); ++i) {
    const View token = json.element(i);
    if (token["single_word"].flag_or(false)) token.refuse("stands for single words alone, which is not known here");
    Added& one = added.emplace_back(Added{token.need("content").text(), token.need("id").number(),
                                          token["special"].flag_or(false), token["lstrip"].flag_or(false),
                                          token["rstrip"].flag_or(false)});
    if (one.text.empty()) token.refuse("is an empty token");
  }
  std::ranges::sort(added, {}, [](const Added& token) { return std::pair(-std::ssize(token.text), token.id); });
  return added;
}

}  // namespace

Tokenizer Tokenizer::from_json(const Json& json, std::string_view source) try {
  const View root{&json, {source, ""}};
  auto parts = std::make_shared<Parts>();
  parts->json = json;
  parts->normalize = tokens::read_normalizer(root["normalizer"]);
  parts->split = tokens::read_pre_tokenizer(root["pre_tokenizer"]);
  parts->model = tokens::read_model(root.need("model"));
  parts->join = tokens::read_decoder(root["decoder"]);
  parts->added = read_added(root["added_tokens"]);
  parts->ids = std::visit([](const auto& model) { return model.ids; }, parts->model);
  for (const Added& token : parts->added) parts->ids.insert_or_assign(token.text, token.id);
  read_post_processor(root["post_processor"], parts->ids, parts->before, parts->behind);

  // Ids may have holes, but a file of a few tokens cannot ask for a table of billions.
  const auto most = static_cast<std::int64_t>(4 * parts->ids.size() + 1024);
  for (const auto& [token, id] : parts->ids) {
    if (id >= most)
      root.refuse("gives '", shown(token), "' the id ", id, ", and has only ", parts->ids.size(), " tokens");
    const auto at = static_cast<std::size_t>(id);
    if (at >= parts->texts.size()) parts->texts.resize(at + 1);
    if (!parts->texts[at].empty())
      root.refuse("has two tokens of id ", id, ": '", shown(parts->texts[at]), "' and '", shown(token), "'");
    parts->texts[at] = token;
  }
  parts->special.resize(parts->texts.size());
  for (const Added& token : parts->added) parts->special[static_cast<std::size_t>(token.id)] = token.special;
  for (const auto* const side : {&parts->before, &parts->behind})
    for (const std::int64_t id : *side)
      if (id >= std::ssize(parts->texts)) root.refuse("puts the id ", id, " around texts, which is no token");
  return Tokenizer(std::move(parts));
} catch (...) { rethrow_shortage(source); }

Tokenizer Tokenizer::load(const std::string& path) try {
  Json json;
  as_data([&] { json = parse_json(read_text_file(path), path); });
  return from_json(json, path);
} catch (...) { rethrow_shortage(path); }

std::vector<std::int64_t> Tokenizer::encode(std::string_view text, bool special) const try {
  const Parts& parts = *parts_;
  std::vector<std::int64_t> ids;
  if (special) ids = parts.before;
  const auto encode_part = [&](std::string_view part) {
    if (part.empty()) return;
    const bool first = part.data() == text.data();
    for (const std::string& word : parts.split({parts.normalize(std::string(part))}, first))
      std::visit([&](const auto& model) { model.encode(word, ids); }, parts.model);
  };
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Added* const token = parts.added_at(text, at);
    if (!token) {
      ++at;
      continue;
    }
    std::string_view part = text.substr(begin, at - begin);
    constexpr std::string_view kSpaces = " \t\n\v\f\r";
    if (token->strip_left) part = part.substr(0, part.find_last_not_of(kSpaces) + 1);
    encode_part(part);
    ids.push_back(token->id);
    at += token->text.size();
    if (token->strip_right) at = std::min(text.find_first_not_of(kSpaces, at), text.size());
    begin = at;
  }
  encode_part(text.substr(begin));
  if (special) ids.insert(ids.end(), parts.behind.begin(), parts.behind.end());
  return ids;
} catch (...) { rethrow_shortage("tokenizer"); }

std::string Tokenizer::decode(std::span<const std::int64_t> ids, bool skip_special) const try {
  std::vector<std::string> pieces;
  for (const std::int64_t id : ids) {
    const std::string& text = token(id);
    if (!skip_special || !parts_->special[static_cast<std::size_t>(id)]) pieces.push_back(text);
  }
  std::string all;
  for (const std::string& piece : parts_->join(std::move(pieces))) all += piece;
  return all;
} catch (...) { rethrow_shortage("tokenizer"); }

std::int64_t Tokenizer::size() const { return std::ssize(parts_->ids); }

bool Tokenizer::has(std::string_view token) const { return parts_->ids.contains(token); }

std::int64_t Tokenizer::id(std::string_view token) const {
  const auto found = parts_->ids.find(token);
  require<DataError>(found != parts_->ids.end(), "tokenizer: has no token '", shown(token), "'");
  return found->second;
}

const std::string& Tokenizer::token(std::int64_t id) const {
  require<IndexError>(id >= 0 && id < std::ssize(parts_->texts) && !parts_->texts[static_cast<std::size_t>(id)].empty(),
                      "tokenizer: token ", id, " of ", parts_->texts.size(), " does not exist");
  return parts_->texts[static_cast<std::size_t>(id)];
}

const Json& Tokenizer::json() const { return parts_->json; }
void Tokenizer::save(const std::string& path) const try {
  write_file_atomically(path, std::string_view(write_json(json())));
} catch (...) { rethrow_shortage(path); }

}  // namespace kiln
