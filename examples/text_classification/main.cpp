// A transformer tells what news are about: the world, sports, business, science and technology (Zhang, Zhao, LeCun,
// "Character-level convolutional networks for text classification", 2015).
//
//   text_classification --data ag_news/test.csv [--run DIRECTORY] [--plain] [--web PORT] [--epochs N] ...; --help lists all
#include <optional>
#include <string>
#include <vector>

#include "kiln/core/config/arguments.hpp"
#include "kiln/data/loader.hpp"
#include "kiln/data/table/csv.hpp"
#include "kiln/kiln.hpp"
#include "kiln/train/train.hpp"
#include "models/text_classifier.hpp"
#include "models/vocabulary.hpp"

namespace {

using namespace kiln;

struct Run {
  std::string data = "test.csv";
  std::optional<std::string> run;  // a directory for logs and checkpoints, in which a training that was stopped goes on
  bool plain = false;              // lines in place of the dashboard
  std::optional<std::uint16_t> web;  // a port: the dashboard as a page for a browser; 0: any port that is free
  models::TextClassifierConfig model = {
      .vocabulary = 0, .classes = 4, .context = 64, .width = 64, .heads = 4, .layers = 1, .dropout = 0.4};
  std::int64_t epochs = 6, batch = 32;
  double rate = 4e-3;
  std::uint64_t seed = 1;
};

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

/// Texts as numbers, still of any lengths.
struct Batch {
  std::vector<std::vector<std::int64_t>> texts;
  std::vector<std::int64_t> topics;
};

void learn(const Run& run) {
  const auto all = in_memory(read_news(run.data));
  const std::int64_t held_out = all->size() / 5;
  const auto [known, unseen] = split(all, {all->size() - held_out, held_out}, run.seed);
  std::vector<std::vector<std::string>> texts;
  for (std::int64_t i = 0; i < known->size(); ++i) texts.push_back(known->get(i).words);
  const models::Vocabulary words(texts, 2, 20'000);

  const auto batcher = [&words](std::span<const News> items) {
    Batch batch;
    for (const News& item : items) {
      batch.texts.push_back(words.encode(item.words));
      batch.topics.push_back(item.topic);
    }
    return batch;
  };
  DataLoader train_loader(
      known, batcher, {.batch_size = run.batch, .shuffle = true, .seed = run.seed, .workers = 1, .drop_last = true});
  DataLoader valid_loader(unseen, batcher, {.batch_size = 128, .workers = 1});

  const Device device = Device::best();
  device.seed(run.seed);
  auto config = run.model;
  config.vocabulary = words.size();
  using models::TextClassifier;
  TextClassifier model = train(config.init(device.autodiff()));
  const auto step = [device, config](const TextClassifier& m, const Batch& batch) -> ClassificationOutput {
    const auto ids = models::padded(batch.texts, config.context, config.padding, device).ids;
    const Tensor<1, Int> topics = Tensor<1, Int>::of(batch.topics, device);
    const Tensor<2> scores = m.forward(ids);
    return {cross_entropy(scores, topics), scores, topics};
  };
  AdamW optimizer = AdamWConfig{.weight_decay = 0.01}.init(model, {.clip = {.global_norm = 1}});
  Learner learner(std::move(model), std::move(optimizer), step, {.epochs = run.epochs, .seed = run.seed});
  learner.schedule(
      CosineConfig{.peak = run.rate, .warmup = train_loader.size(), .steps = run.epochs * train_loader.size()});
  learner.metric(metric::Accuracy{}).valid_metric(metric::FBeta{}, "f1");
  learner.train_metric(metric::ItemsPerSecond{});
  watch(learner, {run.plain, run.web});
  if (run.run) {
    const std::filesystem::path directory = *run.run;
    learner.add(RunDirectory(directory, to_json(run)));
    learner.checkpoints(directory / "checkpoint", {.last = 1, .best = 1, .metric = "accuracy", .rising = true}, true,
                        to_json(run));
  }
  learner.fit(train_loader, valid_loader);

  Evaluator evaluator(learner.result(), step);
  const auto found = evaluator.metric(metric::Accuracy{}).measure("held out", valid_loader);
  print("right about {:.1f} % of {} news that were held out\n", 100 * found.find("accuracy")->value, held_out);
}

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, learn); }
