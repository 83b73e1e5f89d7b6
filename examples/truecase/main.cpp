// A tagger gives news in small letters their capitals back (Lita et al., "tRuEcasIng", 2003): whether a word is all small, has
// a capital first, or is something else. Beside it what each word is most often by itself.
//
//   truecase --data ag_news/test.csv [--epochs N] [--rate X] ...; --help lists all
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "kiln/core/config/arguments.hpp"
#include "kiln/data/table/csv.hpp"
#include "kiln/kiln.hpp"
#include "models/language/tagger.hpp"
#include "models/language/vocabulary.hpp"

namespace {

using namespace kiln;

struct Run {
  std::string data = "test.csv";
  models::TaggerConfig model = {.vocabulary = 0, .tags = 3, .width = 64, .hidden = 64};
  std::int64_t epochs = 3, batch = 32, longest = 64;
  double rate = 5e-3;
  std::uint64_t seed = 1;
};

constexpr std::size_t kTags = 3;

/// 0: no capital, 1: the first letter alone, 2: others.
std::int64_t tag_of(const std::string& word) {
  const std::string lower = models::lower_case(word);
  if (word == lower) return 0;
  return word[0] != lower[0] && word.substr(1) == lower.substr(1) ? 1 : 2;
}

/// Texts in small letters, as tensors and as words.
struct Tagged {
  std::vector<std::vector<std::string>> words;
  std::vector<std::vector<std::int64_t>> tags;
};

/// What each word is most often, and the share of `test` that this says right, in percent.
double most_frequent(const Tagged& training, const Tagged& test) {
  std::map<std::string, std::array<std::int64_t, kTags>> counts;
  for (std::size_t i = 0; i < training.words.size(); ++i)
    for (std::size_t j = 0; j < training.words[i].size(); ++j)
      ++counts[training.words[i][j]][static_cast<std::size_t>(training.tags[i][j])];
  std::int64_t right = 0, all = 0;
  for (std::size_t i = 0; i < test.words.size(); ++i)
    for (std::size_t j = 0; j < test.words[i].size(); ++j) {
      const auto& seen = counts[test.words[i][j]];
      right += std::ranges::max_element(seen) - seen.begin() == test.tags[i][j];
      ++all;
    }
  return 100.0 * static_cast<double>(right) / static_cast<double>(all);
}

struct Batch {
  Tensor<2, Int> ids, tags;
  Tensor<1, Int> lengths;
};

/// Texts to learn from, and every fifth, which is held out.
struct Parts {
  Tagged train, valid;
};

Parts read_texts(const Run& run) {
  Parts parts;
  require<IoError>(std::filesystem::exists(run.data), "there is no ", run.data,
                   ": get it by\n  curl -LO "
                   "https://raw.githubusercontent.com/mhjabreel/CharCnn_Keras/master/data/ag_news_csv/test.csv");
  const CsvFile records(run.data, {.header = false});
  require<DataError>(records.width() == 3, run.data, ": its records are not a class, a title and a text");
  for (std::int64_t i = 0; i < records.size(); ++i) {
    auto words = models::words_of(records.get(i)[2]);
    words.resize(std::min(words.size(), static_cast<std::size_t>(run.longest)));
    if (words.empty()) continue;
    std::vector<std::int64_t> tags;
    for (std::string& word : words) {
      tags.push_back(tag_of(word));
      word = models::lower_case(word);
    }
    Tagged& part = i % 5 == 4 ? parts.valid : parts.train;
    part.words.push_back(std::move(words));
    part.tags.push_back(std::move(tags));
  }
  require<DataError>(!parts.train.words.empty() && !parts.valid.words.empty(), run.data, ": holds too few texts");
  return parts;
}

using BatchOf = std::function<Batch(const Tagged& of, std::span<const std::int64_t> rows)>;

/// The words of the texts that get their own tag, in percent.
double accuracy(const models::Tagger& model, const Tagged& texts, const BatchOf& batch) {
  const NoGrad pause;
  const models::Tagger quiet = valid(model);
  std::vector<std::int64_t> rows(texts.words.size());
  std::iota(rows.begin(), rows.end(), 0);
  std::int64_t right = 0, all = 0;
  for (std::size_t first = 0; first < rows.size(); first += 64) {
    const Batch b = batch(texts, std::span(rows).subspan(first, std::min<std::size_t>(64, rows.size() - first)));
    right += quiet.forward(b.ids, b.lengths).argmax(2).eq(b.tags).to_int().sum().item();
    all += b.lengths.sum().item();
  }
  return 100.0 * static_cast<double>(right) / static_cast<double>(all);
}

void learn(Run run) {
  const Parts parts = read_texts(run);
  std::printf("each word by itself: %.2f %% of the words that were held out\n",
              most_frequent(parts.train, parts.valid));

  const models::Vocabulary vocabulary(parts.train.words, 2, 20'000);
  const Device device = Device::best();
  device.seed(run.seed);
  const BatchOf batch = [&](const Tagged& of, std::span<const std::int64_t> rows) {
    std::vector<std::vector<std::int64_t>> ids, tags;
    for (const std::int64_t row : rows) {
      ids.push_back(vocabulary.encode(of.words[static_cast<std::size_t>(row)]));
      tags.push_back(of.tags[static_cast<std::size_t>(row)]);
    }
    const auto words = models::padded(ids, run.longest, models::Vocabulary::kPadding, device);
    return Batch{words.ids, models::padded(tags, run.longest, -1, device).ids, words.lengths};
  };
  run.model.vocabulary = vocabulary.size();
  models::Tagger model = train(run.model.init(device.autodiff()));
  Adam optimizer = AdamConfig{}.init(model, {.clip = {.global_norm = 1}});
  const auto count = static_cast<std::int64_t>(parts.train.words.size());
  auto schedule = CosineConfig{.peak = run.rate, .steps = run.epochs * (count / run.batch)}.init();
  Generator keys(run.seed);
  for (std::int64_t epoch = 1; epoch <= run.epochs; ++epoch) {
    const std::vector<std::int64_t> order = randperm(count, device, keys.next()).to_vector();
    for (std::int64_t first = 0; first + run.batch <= count; first += run.batch) {
      const Batch b = batch(
          parts.train, std::span(order).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(run.batch)));
      auto [loss, grads] =
          value_and_grad(model, [&](const models::Tagger& m) { return m.loss(b.ids, b.lengths, b.tags); });
      model = optimizer.step(schedule.next(), std::move(model), grads);
    }
    std::printf("epoch %lld: %.2f %%\n", static_cast<long long>(epoch), accuracy(model, parts.valid, batch));
    std::fflush(stdout);
  }
}

const Help kHelp{
    R"(A tagger gives news in small letters their capitals back (Lita et al., "tRuEcasIng", 2003): whether a word is all small, has
a capital first, or is something else. Beside it what each word is most often by itself.

  truecase --data ag_news/test.csv [--epochs N] [--rate X] ...

It needs test.csv of AG News, and Kiln comes without it:
  curl -LO https://raw.githubusercontent.com/mhjabreel/CharCnn_Keras/master/data/ag_news_csv/test.csv)",
    {{"data", "a CSV file of AG News"},
     {"model", "sizes of the network"},
     {"epochs", "how often training goes through the data"},
     {"batch", "items in a step"},
     {"longest", "words of a text that are looked at"},
     {"rate", "the learning rate, at its highest"},
     {"seed", "decides initial weights, order and noise"}}};

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, learn, kHelp); }
