#include "kiln/data/text/tokenizer.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "kiln/core/error/memory_error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/file.hpp"
#include "kiln/data/table/lines.hpp"
#include "kiln/data/text/added.hpp"
#include "kiln/data/text/models.hpp"
#include "kiln/data/text/post_processor.hpp"
#include "kiln/data/text/stages.hpp"
#include "kiln/data/text/unicode.hpp"

namespace kiln {
namespace {

using tokens::View;

}  // namespace

struct Tokenizer::Stages {
  Json json;
  tokens::Rewrite normalize;
  tokens::Split split;
  tokens::Model model;
  tokens::Join join;
  tokens::PostProcessor post_processor;
  std::optional<tokens::AddedTokens> added, added_to_normalized;
  TokenIds ids;
  std::vector<std::string> texts;    // by id; empty if there is none
  std::vector<bool> special, whole;  // by id; `whole` for added tokens
};

Tokenizer Tokenizer::from_json(const Json& json, std::string_view source) try {
  const View root{&json, {source, ""}};
  root.only({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor",
             "decoder", "model"});
  auto parts = std::make_shared<Stages>();
  parts->json = json;
  parts->normalize = tokens::read_normalizer(root["normalizer"]);
  parts->split = tokens::read_pre_tokenizer(root["pre_tokenizer"]);
  parts->model = tokens::read_model(root.need("model"));
  parts->join = tokens::read_decoder(root["decoder"]);
  const std::vector<tokens::AddedToken> added = tokens::read_added(root["added_tokens"]);
  parts->added.emplace(root["added_tokens"], added, false, parts->normalize);
  parts->added_to_normalized.emplace(root["added_tokens"], added, true, parts->normalize);
  parts->ids = std::visit([](const auto& model) { return model.ids; }, parts->model);
  for (const tokens::AddedToken& token : added) parts->ids.insert_or_assign(token.text, token.id);
  parts->post_processor = tokens::PostProcessor::read(root);

  // Ids may have gaps, but a file of a few tokens must not require a table of billions.
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
  parts->whole.resize(parts->texts.size());
  for (const tokens::AddedToken& token : added) {
    parts->special[static_cast<std::size_t>(token.id)] = token.special;
    parts->whole[static_cast<std::size_t>(token.id)] = true;
  }
  for (const auto* const side : {&parts->post_processor.before, &parts->post_processor.behind})
    for (const std::int64_t id : *side)
      if (id >= std::ssize(parts->texts)) root.refuse("puts the id ", id, " around texts, which is not a token");
  return Tokenizer(std::move(parts));
} catch (...) { rethrow_as_memory_error(source); }

Tokenizer Tokenizer::load(const std::string& path) try {
  Json json;
  as_data([&] { json = parse_json(read_text_file(path), path); });
  return from_json(json, path);
} catch (...) { rethrow_as_memory_error(path); }

Tokenizer Tokenizer::without_padding() const try {
  auto parts = std::make_shared<Stages>(*parts_);
  parts->post_processor.padding.reset();
  for (auto& [key, value] : std::get<Json::Object>(parts->json.is))
    if (key == "padding") value = Json();
  return Tokenizer(std::move(parts));
} catch (...) { rethrow_as_memory_error("tokenizer"); }

std::optional<std::int64_t> Tokenizer::padding() const {
  if (!parts_->post_processor.padding) return std::nullopt;
  return parts_->post_processor.padding->id;
}

std::vector<std::int64_t> Tokenizer::encode(std::string_view text, bool special) const try {
  const Stages& parts = *parts_;
  const tokens::OutputLimit limit(text.size());
  std::vector<std::int64_t> ids;
  const auto add = [&](std::int64_t id) { ids.push_back(id); };
  // Does the normalizer keep the text's first character, so that the first piece is the text's beginning?
  const auto keeps_first = [&] {
    return !parts.normalize(std::string(text.substr(0, unicode::decode(text, 0).bytes)), limit).empty();
  };
  parts.added->each(
      text,
      [&](std::string_view part) {
        const bool first = part.data() == text.data() && keeps_first();
        const std::string normal = parts.normalize(std::string(part), limit);
        parts.added_to_normalized->each(
            normal,
            [&](std::string_view piece) {
              const bool begins = first && piece.data() == normal.data();
              for (const tokens::TextPiece& word : parts.split({{std::string(piece), begins}}, limit))
                std::visit([&](const auto& model) { model.encode(word.text, ids); }, parts.model);
            },
            add);
      },
      add);
  return parts.post_processor.around(std::move(ids), special);
} catch (...) { rethrow_as_memory_error("tokenizer"); }

std::string Tokenizer::decode(std::span<const std::int64_t> ids, bool skip_special) const try {
  std::vector<tokens::Spelling> pieces;
  std::size_t bytes = 0;
  for (const std::int64_t id : ids) {
    const std::string& text = token(id);
    const auto at = static_cast<std::size_t>(id);
    if (skip_special && parts_->special[at]) continue;
    pieces.push_back({text, parts_->whole[at]});
    bytes += text.size();
  }
  std::string all;
  for (const tokens::Spelling& piece : parts_->join(std::move(pieces), tokens::OutputLimit(bytes))) all += piece.text;
  return all;
} catch (...) { rethrow_as_memory_error("tokenizer"); }

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
} catch (...) { rethrow_as_memory_error(path); }

}  // namespace kiln
