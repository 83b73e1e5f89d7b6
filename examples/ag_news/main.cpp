// A transformer tells what news are about: the world, sports, business, science and technology (Zhang, Zhao, LeCun,
// "Character-level convolutional networks for text classification", 2015).
//
//   ag_news --data ag_news/test.csv [--epochs N] [--rate X] ...; --help lists all
#include <cstdio>
#include <string>
#include <vector>

#include "kiln/core/config/arguments.hpp"
#include "kiln/data/table/csv.hpp"
#include "kiln/kiln.hpp"
#include "models/text_classifier.hpp"
#include "models/vocabulary.hpp"

namespace {

using namespace kiln;

struct Run {
  std::string data = "test.csv";
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

/// The file's news, of which every fifth is held out.
struct News {
  std::vector<std::vector<std::string>> texts[2];
  std::vector<std::int64_t> topics[2];
};

News read_news(const std::string& file) {
  News news;
  const auto records = csv_rows<Record>(CsvFile(file, {.header = false}));
  for (std::int64_t i = 0; i < records->size(); ++i) {
    const Record record = records->get(i);
    require<DataError>(record.topic >= 1 && record.topic <= 4, file, ": record ", i + 1, " has the class ",
                       record.topic, ", not 1 to 4");
    news.texts[i % 5 == 4].push_back(models::words_of(models::lower_case(record.title + " " + record.text)));
    news.topics[i % 5 == 4].push_back(record.topic - 1);
  }
  require<DataError>(!news.topics[0].empty() && !news.topics[1].empty(), file, ": holds too few news");
  return news;
}

/// Percent that the model says right.
double accuracy(const models::TextClassifier& model, const Tensor<2, Int>& ids, const Tensor<1, Int>& topics) {
  const NoGrad pause;
  const models::TextClassifier quiet = valid(model);
  std::int64_t right = 0;
  for (std::int64_t first = 0; first < ids.dim(0); first += 128) {
    const std::int64_t count = std::min<std::int64_t>(128, ids.dim(0) - first);
    right +=
        quiet.forward(ids.narrow(0, first, count)).argmax(1).eq(topics.narrow(0, first, count)).to_int().sum().item();
  }
  return 100.0 * static_cast<double>(right) / static_cast<double>(ids.dim(0));
}

void learn(Run run) {
  const News news = read_news(run.data);
  const models::Vocabulary words(news.texts[0], 2, 20'000);
  const Device device = Device::best();
  device.seed(run.seed);
  Tensor<2, Int> ids[2];
  Tensor<1, Int> topics[2];
  for (int part = 0; part < 2; ++part) {
    std::vector<std::vector<std::int64_t>> rows;
    for (const auto& text : news.texts[part]) rows.push_back(words.encode(text));
    ids[part] = models::padded(rows, run.model.context, models::Vocabulary::kPadding, device).ids;
    topics[part] = Tensor<1, Int>::of(news.topics[part], device);
  }
  run.model.vocabulary = words.size();
  models::TextClassifier model = train(run.model.init(device.autodiff()));
  AdamW optimizer = AdamWConfig{.weight_decay = 0.01}.init(model, {.clip = {.global_norm = 1}});
  const std::int64_t count = ids[0].dim(0), steps = count / run.batch;
  auto schedule = CosineConfig{.peak = run.rate, .warmup = steps, .steps = run.epochs * steps}.init();
  Generator keys(run.seed);
  for (std::int64_t epoch = 1; epoch <= run.epochs; ++epoch) {
    const Tensor<1, Int> order = randperm(count, device, keys.next());
    double sum = 0;
    for (std::int64_t step = 0; step < steps; ++step) {
      const Tensor<1, Int> rows = order.narrow(0, step * run.batch, run.batch);
      const Tensor<2, Int> x = ids[0].select(0, rows);
      const Tensor<1, Int> y = topics[0].select(0, rows);
      auto [loss, grads] =
          value_and_grad(model, [&](const models::TextClassifier& m) { return cross_entropy(m.forward(x), y); });
      model = optimizer.step(schedule.next(), std::move(model), grads);
      sum += static_cast<double>(loss.item());
    }
    std::printf("epoch %lld: loss %.3f, accuracy %.1f %% of %lld news that were held out\n",
                static_cast<long long>(epoch), sum / static_cast<double>(steps), accuracy(model, ids[1], topics[1]),
                static_cast<long long>(ids[1].dim(0)));
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, learn); }
