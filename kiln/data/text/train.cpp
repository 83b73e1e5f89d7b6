// Trains byte-pair encodings: counts of pairs are updated, and only words that contain the merged pair are visited.
#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <tuple>
#include <unordered_map>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/memory_error.hpp"
#include "kiln/data/text/described.hpp"
#include "kiln/data/text/split.hpp"
#include "kiln/data/text/tokenizer.hpp"
#include "kiln/data/text/unicode.hpp"
#include "kiln/data/text/vocabulary.hpp"

namespace kiln {
namespace {

using Pair = std::pair<std::int64_t, std::int64_t>;

struct Word {
  std::vector<std::int64_t> tokens;
  std::int64_t count;
};

class Trainer {
 public:
  explicit Trainer(std::vector<Word> words) : words_(std::move(words)) {
    for (std::size_t i = 0; i < words_.size(); ++i) count(i, 1);
    for (const auto& [pair, state] : pairs_) propose(pair);
  }

  /// The most frequent pair, of equally frequent ones the smallest; none below `least`.
  std::optional<Pair> best(std::int64_t least) {
    while (!queue_.empty()) {
      const auto [times, a, b] = queue_.top();
      queue_.pop();
      const Pair pair{-a, -b};
      const std::int64_t now = pairs_[pair].times;
      if (now != times) {  // its tokens were merged with others meanwhile
        if (now > 0) propose(pair);
        continue;
      }
      if (times < least || times < 1) return std::nullopt;
      return pair;
    }
    return std::nullopt;
  }

  void join(const Pair& pair, std::int64_t joined) {
    std::set<Pair> changed;
    for (const std::size_t i : std::exchange(pairs_[pair].words, {})) {
      count(i, -1);
      auto& tokens = words_[i].tokens;
      std::size_t to = 0;
      for (std::size_t from = 0; from < tokens.size(); ++from, ++to) {
        const bool here = from + 1 < tokens.size() && Pair{tokens[from], tokens[from + 1]} == pair;
        tokens[to] = here ? joined : tokens[from];
        from += here;
      }
      tokens.resize(to);
      count(i, 1);
      for (std::size_t k = 0; k + 1 < to; ++k)
        if (tokens[k] == joined || tokens[k + 1] == joined) changed.insert({tokens[k], tokens[k + 1]});
    }
    for (const Pair& other : changed) propose(other);
  }

 private:
  struct State {
    std::int64_t times = 0;
    std::set<std::size_t> words;  // words that may contain it
  };

  void count(std::size_t i, std::int64_t sign) {
    const Word& word = words_[i];
    for (std::size_t k = 0; k + 1 < word.tokens.size(); ++k) {
      State& state = pairs_[{word.tokens[k], word.tokens[k + 1]}];
      state.times += sign * word.count;
      if (sign > 0) state.words.insert(i);
    }
  }
  void propose(const Pair& pair) { queue_.emplace(pairs_[pair].times, -pair.first, -pair.second); }

  std::vector<Word> words_;
  std::map<Pair, State> pairs_;
  std::priority_queue<std::tuple<std::int64_t, std::int64_t, std::int64_t>> queue_;
};

}  // namespace

Tokenizer train_byte_pairs(const DatasetPtr<std::string>& texts, const BytePairTraining& config) try {
  const auto fixed = static_cast<std::int64_t>(256 + config.special.size());
  require<ArgumentError>(config.vocabulary >= fixed, "byte pairs: a vocabulary of ", config.vocabulary,
                         " does not hold 256 bytes and ", config.special.size(), " special tokens");
  require<ArgumentError>(config.least >= 1, "byte pairs: least is ", config.least, ", it must be at least 1");
  Json::List added = tokens::special("byte pairs", config.special);
  std::vector<std::string> tokens = config.special;
  std::vector<char32_t> letters;
  std::string bytes(1, '\0');
  for (int byte = 0; byte < 256; ++byte) {
    bytes[0] = static_cast<char>(byte);
    letters.push_back(unicode::decode(bytes_to_letters(bytes), 0).point);
  }
  std::ranges::sort(letters);
  TokenIds ids;
  for (const char32_t letter : letters) {
    std::string token;
    unicode::append(token, letter);
    ids.emplace(token, std::ssize(tokens));
    tokens.push_back(std::move(token));
  }

  std::map<std::string, std::int64_t> counts;
  for (std::int64_t i = 0; i < texts->size(); ++i) {
    const std::string text = texts->get(i);
    for (const std::string_view word : split_gpt2(text)) ++counts[bytes_to_letters(word)];
  }
  std::vector<Word> words;
  for (const auto& [word, count] : counts) {
    Word& one = words.emplace_back(Word{{}, count});
    for (std::size_t at = 0; at < word.size();) {
      const std::size_t size = unicode::decode(word, at).bytes;
      one.tokens.push_back(ids.find(std::string_view(word).substr(at, size))->second);
      at += size;
    }
  }

  Trainer trainer(std::move(words));
  Json::List merges;
  while (std::ssize(tokens) < config.vocabulary) {
    const auto pair = trainer.best(config.least);
    if (!pair) break;
    const std::string a = tokens[static_cast<std::size_t>(pair->first)],
                      b = tokens[static_cast<std::size_t>(pair->second)];
    // Two ways to the same text are one token.
    const auto [known, is_new] = ids.emplace(a + b, std::ssize(tokens));
    trainer.join(*pair, known->second);
    merges.push_back({Json::List{{a}, {b}}});
    if (is_new) tokens.push_back(a + b);
  }

  return Tokenizer::from_json(
      tokens::described(tokens::byte_pairs(tokens::numbered(tokens), std::move(merges)), {}, tokens::byte_level(),
                        tokens::byte_level(), tokens::byte_level(), std::move(added)),
      "byte pairs");
} catch (...) { rethrow_as_memory_error("tokenizer"); }

}  // namespace kiln
