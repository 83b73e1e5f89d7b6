#include "examples/text_classification/articles.hpp"

#include <array>
#include <filesystem>

#include "kiln/data/compose/chosen.hpp"
#include "kiln/data/published/tables.hpp"

namespace articles {
namespace {

using namespace kiln;

struct Article {
  std::vector<std::string> words;
  std::int64_t topic = 0;
};

using Parts = std::array<DatasetPtr<LabelledText>, 2>;

/// Those to learn from, and those to measure on.
Parts parts_of(const std::string& path, Set set, std::uint64_t seed) {
  if (std::filesystem::is_directory(path)) {
    const auto read = set == Set::AgNews ? ag_news : dbpedia;
    return {read(path, Split::Train), read(path, Split::Test)};
  }
  const auto all = labelled_articles(path, classes_of(set));
  require<DataError>(all->size() >= 5, path, ": holds ", all->size(), " texts, too few to hold a fifth out");
  const std::int64_t held_out = all->size() / 5;
  return split(all, {all->size() - held_out, held_out}, seed);
}

/// At most `most` of them, each as its words, in memory.
DatasetPtr<Article> in_words(const DatasetPtr<LabelledText>& texts, std::optional<std::int64_t> most,
                             std::uint64_t seed) {
  const auto some = most && *most < texts->size() ? sampled(texts, *most, seed) : texts;
  std::vector<Article> articles;
  for (std::int64_t i = 0; i < some->size(); ++i) {
    const LabelledText text = some->get(i);
    articles.push_back({models::words_of(models::lower_case(text.text)), text.label});
  }
  return in_memory(std::move(articles));
}

models::Vocabulary vocabulary_of(const DatasetPtr<Article>& articles) {
  std::vector<std::vector<std::string>> texts;
  for (std::int64_t i = 0; i < articles->size(); ++i) texts.push_back(articles->get(i).words);
  return {texts, 2, 20'000};
}

}  // namespace

std::int64_t classes_of(Set set) { return std::ssize(set == Set::AgNews ? ag_news_classes() : dbpedia_classes()); }

Loaders load(const std::string& path, const Options& options, std::optional<models::Vocabulary> known) {
  require<ArgumentError>(options.sample.value_or(10) >= 10, "--sample ", options.sample.value_or(0),
                         " must be at least 10: a tenth is measured on");
  const Parts parts = parts_of(path, options.set, options.seed);
  const auto tenth = options.sample ? std::optional(*options.sample / 10) : std::nullopt;
  const auto learned = in_words(parts[0], options.sample, options.seed);
  const auto unseen = in_words(parts[1], tenth, options.seed);
  models::Vocabulary words = known ? *std::move(known) : vocabulary_of(learned);

  const auto batcher = [words](std::span<const Article> items) {
    Batch numbers;
    for (const Article& item : items) {
      numbers.texts.push_back(words.encode(item.words));
      numbers.topics.push_back(item.topic);
    }
    return numbers;
  };
  const std::int64_t held_out = unseen->size(), batch = options.batch;
  return {std::move(words), held_out,
          DataLoader(learned, batcher,
                     {.batch_size = batch, .shuffle = true, .seed = options.seed, .workers = 1, .drop_last = true}),
          DataLoader(unseen, batcher, {.batch_size = 128, .workers = 1})};
}

}  // namespace articles
