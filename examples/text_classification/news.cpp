#include "examples/text_classification/news.hpp"

#include "kiln/data/table/csv.hpp"

namespace news {
namespace {

using namespace kiln;

/// A row of the file.
struct Record {
  std::int64_t topic = 0;
  std::string title, text;
};

struct News {
  std::vector<std::string> words;
  std::int64_t topic = 0;
};

std::vector<News> read_news(const std::string& file) {
  std::vector<News> news;
  const auto records = csv_rows<Record>(CsvFile(file, {.header = false}));
  for (std::int64_t i = 0; i < records->size(); ++i) {
    const Record record = records->get(i);
    require<DataError>(record.topic >= 1 && record.topic <= 4, file, ": record ", i + 1, " has the class ",
                       record.topic, ", not 1 to 4");
    news.push_back({models::words_of(models::lower_case(record.title + " " + record.text)), record.topic - 1});
  }
  require<DataError>(news.size() >= 5, file, ": holds too few news");
  return news;
}

}  // namespace

Loaders load(const std::string& file, std::int64_t batch, std::uint64_t seed) {
  const auto all = in_memory(read_news(file));
  const std::int64_t held_out = all->size() / 5;
  const auto [known, unseen] = split(all, {all->size() - held_out, held_out}, seed);
  std::vector<std::vector<std::string>> texts;
  for (std::int64_t i = 0; i < known->size(); ++i) texts.push_back(known->get(i).words);
  models::Vocabulary words(texts, 2, 20'000);

  const auto batcher = [words](std::span<const News> items) {
    Batch numbers;
    for (const News& item : items) {
      numbers.texts.push_back(words.encode(item.words));
      numbers.topics.push_back(item.topic);
    }
    return numbers;
  };
  return {
      std::move(words), held_out,
      DataLoader(known, batcher, {.batch_size = batch, .shuffle = true, .seed = seed, .workers = 1, .drop_last = true}),
      DataLoader(unseen, batcher, {.batch_size = 128, .workers = 1})};
}

}  // namespace news
