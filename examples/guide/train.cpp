#include "examples/guide/train.hpp"

#include <fmt/core.h>

#include "examples/guide/model.hpp"
#include "examples/guide/source.hpp"
#include "kiln/data/image_tensors.hpp"
#include "kiln/data/loader.hpp"
#include "kiln/optim/rules/adam.hpp"
#include "kiln/train/evaluator.hpp"
#include "kiln/train/learner.hpp"
#include "kiln/train/log/files.hpp"
#include "kiln/train/metric/accuracy.hpp"
#include "kiln/train/show/watch.hpp"

namespace guide {
namespace {

/// What was told when the training began; how far to go is the one setting that may change.
Settings resumed(const TrainOptions& options) {
  const Settings& asked = options.settings;
  Settings settings = settings_of(latest_checkpoint(checkpoints_of(options.artifacts)));
  const auto require_same = [&](const std::string& option, const auto& here, const auto& there) {
    require<ConfigError>(!options.said.contains(option) || here == there, option, " is ", here,
                         ", and the training that goes on has ", there, ": leave ", option,
                         " out, or begin anew, without --resume");
  };
  require_same("--batch-size", asked.batch_size, settings.batch_size);
  require_same("--lr", asked.learning_rate, settings.learning_rate);
  require_same("--seed", asked.seed, settings.seed);
  if (options.said.contains("--data")) require_same("--data", open_source(asked.data).location, settings.data);
  settings.epochs = asked.epochs;
  return settings;
}

}  // namespace

double train(const TrainOptions& options, const Device& plain) {
  const Device device = plain.autodiff();
  Settings settings = options.resume ? resumed(options) : options.settings;
  const Source source = open_source(settings.data);
  settings.data = source.location;  // what the environment said today must not matter tomorrow
  device.seed(settings.seed);
  Model model = kiln::train(settings.model.init(device));
  Adam optimizer = AdamConfig{}.init(model);
  fmt::print("data: {}\ndevice: {}, {} parameters\n", source.name, device.name(), num_params(model));

  const auto step = [device](const Model& m, ImageBatch batch) -> ClassificationOutput {
    const auto [images, targets] = to_tensors(std::move(batch), device);
    const Tensor<2> scores = m.forward(images);
    return {nn::CrossEntropyLoss{}.forward(scores, targets), scores, targets};
  };
  DataLoader train_loader(
      source.train, ImageBatcher::normalized(),
      {.batch_size = settings.batch_size, .shuffle = true, .seed = settings.seed, .workers = options.workers});
  DataLoader test_loader(source.test, ImageBatcher::normalized(), {.batch_size = 256, .workers = 1});

  Settings kept = settings;
  kept.epochs = 0;
  Learner learner(std::move(model), std::move(optimizer), step, {.epochs = settings.epochs, .seed = settings.seed});
  learner.rate(settings.learning_rate).metric(metric::Accuracy{});
  learner.checkpoints(checkpoints_of(options.artifacts), {.last = 1}, options.resume, to_json(kept));
  learner.add(RunDirectory(options.artifacts, to_json(settings)));
  watch(learner, options.watch);
  learner.fit(train_loader, test_loader);

  Evaluator evaluator(learner.result(), step);
  const double accuracy =
      100 * evaluator.metric(metric::Accuracy{}).measure("test", test_loader).find("accuracy")->value;
  fmt::print("saved: {}\ntest accuracy {:.2f} %\n", options.artifacts.string(), accuracy);
  return accuracy;
}

}  // namespace guide
