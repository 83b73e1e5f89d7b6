// Trains a vocabulary of words by counting them.
#include <algorithm>
#include <map>
#include <utility>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/memory_error.hpp"
#include "kiln/data/text/described.hpp"
#include "kiln/data/text/split.hpp"
#include "kiln/data/text/tokenizer.hpp"

namespace kiln {

Tokenizer train_words(const DatasetPtr<std::string>& texts, const WordTraining& config) try {
  const auto room = config.vocabulary - std::ssize(config.special);
  require<ArgumentError>(room >= 0, "words: a vocabulary of ", config.vocabulary, " does not hold ",
                         config.special.size(), " special tokens");
  require<ArgumentError>(config.least >= 1, "words: least is ", config.least, ", it must be at least 1");
  Json::List added = tokens::special("words", config.special);

  std::map<std::string, std::int64_t, std::less<>> counts;
  for (std::int64_t i = 0; i < texts->size(); ++i) {
    const std::string text = texts->get(i), looked_at = config.lowercase ? lowercased(text) : text;
    for (const std::string_view word : split_words(looked_at)) {
      const auto found = counts.find(word);
      if (found == counts.end()) counts.emplace(word, 1);
      else ++found->second;
    }
  }
  std::vector<std::pair<std::int64_t, std::string>> words;
  for (const auto& [word, count] : counts)
    if (count >= config.least && std::ranges::count(config.special, word) == 0) words.emplace_back(-count, word);
  std::ranges::sort(words);

  std::vector<std::string> tokens = config.special;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(room, std::ssize(words)); ++i)
    tokens.push_back(std::move(words[static_cast<std::size_t>(i)].second));
  using Object = Json::Object;
  Json model{Object{{"type", {"WordLevel"}},
                    {"vocab", {tokens::numbered(tokens)}},
                    {"unk_token", {config.special.empty() ? "" : config.special[0]}}}};
  Json normalizer = config.lowercase ? Json{Object{{"type", {"Lowercase"}}}} : Json{};
  return Tokenizer::from_json(tokens::described(std::move(model), std::move(normalizer),
                                                {Object{{"type", {"Whitespace"}}}}, {}, {}, std::move(added)),
                              "words");
} catch (...) { rethrow_as_memory_error("tokenizer"); }

}  // namespace kiln
