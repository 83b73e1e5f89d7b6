// A transformer tells what news are about: the world, sports, business, science and technology (Zhang, Zhao, LeCun,
// "Character-level convolutional networks for text classification", 2015).
//
//   text_classification --data ag_news/test.csv [--run DIRECTORY] [--plain] [--web PORT] [--epochs N] ...; --help lists all
#include <optional>
#include <string>

#include "examples/text_classification/news.hpp"
#include "kiln/core/config/arguments.hpp"
#include "kiln/kiln.hpp"
#include "kiln/train/train.hpp"
#include "models/language/text_classifier.hpp"

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

/// What decides the weights. How far to go, and who looks on, may change where a training goes on.
Json kept(Run run) {
  run.run.reset();
  run.plain = false;
  run.web.reset();
  run.epochs = 0;
  return to_json(run);
}

void learn(const Run& run) {
  auto [words, held_out, train_loader, valid_loader] = news::load(run.data, run.batch, run.seed);

  const Device device = Device::best();
  device.seed(run.seed);
  auto config = run.model;
  config.vocabulary = words.size();
  using models::TextClassifier;
  TextClassifier model = train(config.init(device.autodiff()));
  const auto step = [device, config](const TextClassifier& m, const news::Batch& batch) -> ClassificationOutput {
    const auto ids = models::padded(batch.texts, config.context, config.padding, device).ids;
    const Tensor<1, Int> topics = Tensor<1, Int>::of(batch.topics, device);
    const Tensor<2> scores = m.forward(ids);
    return {cross_entropy(scores, topics), scores, topics};
  };
  AdamW optimizer = AdamWConfig{.weight_decay = 0.01}.init(model, {.clip = {.global_norm = 1}});
  Learner learner(std::move(model), std::move(optimizer), step, {.epochs = run.epochs, .seed = run.seed});
  const std::int64_t epoch = train_loader.size(), warmup = run.epochs > 1 ? epoch : epoch / 10;
  learner.schedule(CosineConfig{.peak = run.rate, .warmup = warmup, .steps = run.epochs * epoch});
  learner.metric(metric::Accuracy{}).valid_metric(metric::FBeta{}, "f1");
  learner.train_metric(metric::ItemsPerSecond{});
  watch(learner, {run.plain, run.web});
  if (run.run) {
    const std::filesystem::path directory = *run.run;
    learner.add(RunDirectory(directory, to_json(run)));
    learner.checkpoints(directory / "checkpoint",
                        {.last = 1, .best = 1, .metric = "accuracy", .rising = true, .exact = false}, true,
                        kept(run));  // not exact: with other epochs the rate falls otherwise
  }
  learner.fit(train_loader, valid_loader);

  Evaluator evaluator(learner.result(), step);
  const auto found = evaluator.metric(metric::Accuracy{}).measure("held out", valid_loader);
  print("right about {:.1f} % of {} news that were held out\n", 100 * found.find("accuracy")->value, held_out);
}

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, learn); }
