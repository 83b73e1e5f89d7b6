// A transformer tells what texts are about: news (AG News: the world, sports, business, science and technology) or
// articles of an encyclopedia (DbPedia, 14 classes); both of Zhang, Zhao, LeCun, "Character-level convolutional networks
// for text classification", 2015.
//
//   text_classification --data ag_news/test.csv [--run DIRECTORY] [--plain] [--web PORT] [--epochs N] ...; --help lists all
//   text_classification --config examples/text_classification/dbpedia.json --data dbpedia_csv --save encyclopedia
//   text_classification --data ag_news_csv --from encyclopedia --lora 8 --save news
//
// The second learns DbPedia in the sizes of Burn's example. The third leaves that model as it is and learns small
// additions to the weights of its attention (LoRA), and a head for the four classes of news; only these are saved.
#include <filesystem>
#include <optional>
#include <string>

#include "examples/text_classification/articles.hpp"
#include "examples/text_classification/learned.hpp"
#include "kiln/core/config/arguments.hpp"
#include "kiln/kiln.hpp"
#include "kiln/train.hpp"

namespace {

using namespace kiln;
using models::TextClassifier;
namespace fs = std::filesystem;

struct Run {
  std::string data = "test.csv";  // a CSV file, of which a fifth is held out, or a folder with train.csv and test.csv
  articles::Set set = articles::Set::AgNews;
  std::optional<std::int64_t> sample;  // learns from so many texts; else from all
  std::optional<std::string> from;     // a folder that --save wrote: begins with its model, and with its words
  std::optional<std::int64_t> lora;    // the rank of adapters of that model's attention; only they are trained
  std::optional<std::string> save;     // a folder for what was learned
  std::optional<std::string> run;  // a directory for logs and checkpoints, in which a training that was stopped goes on
  bool plain = false;              // lines in place of the dashboard
  std::optional<std::uint16_t> web;  // a port: the dashboard as a page for a browser; 0: any port that is free
  models::TextClassifierConfig model = {
      .vocabulary = 0, .classes = 0, .context = 64, .width = 64, .heads = 4, .layers = 1, .dropout = 0.4};
  std::int64_t epochs = 6, batch = 32;
  double rate = 4e-3;
  std::uint64_t seed = 1;
};

/// What decides the weights. How far to go, and who looks on, may change where a training goes on.
Json kept(Run run) {
  run.run.reset();
  run.save.reset();
  run.plain = false;
  run.web.reset();
  run.epochs = 0;
  return to_json(run);
}

Tensor<2, Int> ids_of(const articles::Batch& batch, const models::TextClassifierConfig& config, const Device& device) {
  return models::padded(batch.texts, config.context, config.padding, device).ids;
}

/// Trains a classifier, or one with adapters, and says how often it is right.
template <class M>
M fit(M model, const Run& run, const models::TextClassifierConfig& config, articles::Loaders& data,
      const Device& device) {
  const auto step = [device, config](const M& m, const articles::Batch& batch) -> ClassificationOutput {
    const Tensor<1, Int> topics = Tensor<1, Int>::of(batch.topics, device);
    const Tensor<2> scores = m.forward(ids_of(batch, config, device));
    return {cross_entropy(scores, topics), scores, topics};
  };
  AdamW optimizer = AdamWConfig{.weight_decay = 0.01}.init(model, {.clip = {.global_norm = 1}});
  Learner learner(train(std::move(model)), std::move(optimizer), step, {.epochs = run.epochs, .seed = run.seed});
  const std::int64_t epoch = data.train.size(), warmup = run.epochs > 1 ? epoch : epoch / 10;
  learner.schedule(CosineConfig{.peak = run.rate, .warmup = warmup, .steps = run.epochs * epoch});
  learner.metric(metric::Accuracy{}).valid_metric(metric::FBeta{}, "f1");
  learner.train_metric(metric::ItemsPerSecond{});
  watch(learner, {run.plain, run.web});
  if (run.run) {
    const fs::path directory = *run.run;
    learner.add(RunDirectory(directory, to_json(run)));
    learner.checkpoints(directory / "checkpoint",
                        {.last = 1, .best = 1, .metric = "accuracy", .rising = true, .exact = false}, true,
                        kept(run));  // not exact: with other epochs the rate falls otherwise
  }
  learner.fit(data.train, data.valid);

  Evaluator evaluator(learner.result(), step);
  const auto found = evaluator.metric(metric::Accuracy{}).measure("held out", data.valid);
  print("right about {:.1f} % of {} texts that were held out\n", 100 * found.find("accuracy")->value, data.held_out);
  return learner.result();
}

/// Trains adapters of the projections of the encoder's attention, and with `new_head` the head. For inference their
/// changes are merged into the weights, which costs no time and gives the same scores but for rounding.
void fit_adapters(TextClassifier model, bool new_head, const Run& run, const models::TextClassifierConfig& config,
                  articles::Loaders& data, const Device& device) {
  Adapted<TextClassifier> tuned = adapted(std::move(model));
  if (new_head) tuned.base = unfreeze(std::move(tuned.base), "head");
  const auto rank = static_cast<double>(*run.lora);
  tuned.add("lora", LoraConfig{.weights = "encoder.blocks.*.attention", .rank = *run.lora, .alpha = 2 * rank});
  print("trains {} of {} numbers\n", num_trained_params(tuned), num_params(tuned));
  tuned = fit(std::move(tuned), run, config, data, device);

  const TextClassifier merged = tuned.merged();
  double most = 0;
  for (const articles::Batch& batch : data.valid) {
    const Tensor<2, Int> ids = ids_of(batch, config, device);
    most = std::max<double>(most, (tuned.forward(ids) - merged.forward(ids)).max_abs().item());
  }
  print("with the adapters merged, scores differ by {:.1e} at most\n", most);
  if (!run.save) return;
  fs::create_directories(*run.save);
  const Selector trained = new_head ? Selector("adapters") || "base.head" : "adapters";
  save(tuned, (fs::path(*run.save) / "adapters.safetensors").string(), {}, trained);
}

void learn(const Run& run) {
  require<ArgumentError>(!run.lora || run.from,
                         "--lora trains adapters of a model that has learned: name its folder, "
                         "which --save wrote, by --from");
  const Device device = Device::best();
  device.seed(run.seed);
  std::optional<learned::Classifier> before;
  if (run.from) before = learned::load(*run.from, device.autodiff());
  require<IoError>(std::filesystem::exists(run.data), "there is no ", run.data,
                   ": get it by\n  curl -LO "
                   "https://raw.githubusercontent.com/mhjabreel/CharCnn_Keras/master/data/ag_news_csv/test.csv");
  auto data = articles::load(run.data, {run.set, run.batch, run.sample, run.seed},
                             before ? std::optional(before->words) : std::nullopt);

  auto config = before ? before->config : run.model;
  config.vocabulary = data.words.size();
  config.classes = articles::classes_of(run.set);
  const bool new_head = before && before->config.classes != config.classes;
  TextClassifier model = before ? std::move(before->model) : config.init(device.autodiff());
  if (new_head) model.head = nn::LinearConfig{.in = config.width, .out = config.classes}.init(device.autodiff());
  if (run.lora) return fit_adapters(std::move(model), new_head, run, config, data, device);
  model = fit(std::move(model), run, config, data, device);
  if (run.save) learned::save({config, data.words, std::move(model)}, *run.save);
}

const Help kHelp{
    R"(A transformer tells what texts are about: news (AG News: the world, sports, business, science and technology) or
articles of an encyclopedia (DbPedia, 14 classes); both of Zhang, Zhao, LeCun, "Character-level convolutional networks
for text classification", 2015.

  text_classification --data ag_news/test.csv [--run DIRECTORY] [--plain] [--web PORT] [--epochs N] ...
  text_classification --config examples/text_classification/dbpedia.json --data dbpedia_csv --save encyclopedia
  text_classification --data ag_news_csv --from encyclopedia --lora 8 --save news

The second learns DbPedia in the sizes of Burn's example. The third leaves that model as it is and learns small
additions to the weights of its attention (LoRA), and a head for the four classes of news; only these are saved.

It needs AG News or DbPedia, and Kiln comes without them:
  curl -LO https://raw.githubusercontent.com/mhjabreel/CharCnn_Keras/master/data/ag_news_csv/test.csv)",
    {{"data", "a CSV file, of which a fifth is held out, or a folder with train.csv and test.csv"},
     {"set", "which data set the files are of"},
     {"sample", "how many texts are learned from; none: all"},
     {"from", "a folder that --save wrote: begins with its model, and with its words"},
     {"lora", "the rank of adapters of that model's attention; only they are trained"},
     {"save", "a folder for what was learned"},
     {"run", "a directory for logs and checkpoints, in which a training that was stopped goes on"},
     {"plain", "lines in place of the dashboard"},
     {"web", "a port: the dashboard as a page for a browser; 0: any port that is free"},
     {"model", "sizes of the network"},
     {"epochs", "how often training goes through the data"},
     {"batch", "items in a step"},
     {"rate", "the learning rate, at its highest"},
     {"seed", "decides initial weights, order and noise"}}};

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, learn, kHelp); }
