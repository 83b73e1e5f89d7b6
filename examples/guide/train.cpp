#include "examples/guide/train.hpp"

#include <fmt/core.h>

#include "examples/guide/progress.hpp"
#include "examples/guide/source.hpp"
#include "kiln/core/config.hpp"
#include "kiln/data/image_tensors.hpp"
#include "kiln/data/loader.hpp"
#include "kiln/optim/adam.hpp"
#include "kiln/store/save.hpp"

namespace guide {
namespace {

std::int64_t count_right(const Tensor<2>& logits, const Tensor<1, Int>& targets) {
  return logits.argmax(1).eq(targets).to_int().sum().item();
}

/// Saves what belongs to a finished epoch; the files of the epoch before go only when config.json names the new ones.
Checkpoint save_checkpoint(const TrainOptions& options, const Model& model, const Adam& optimizer,
                           std::int64_t epochs_done, double test_accuracy, const Checkpoint& before) {
  std::filesystem::create_directories(options.artifacts);
  const Checkpoint now{epochs_done, fmt::format("model-{}.safetensors", epochs_done),
                       fmt::format("optimizer-{}.safetensors", epochs_done), test_accuracy};
  save(model, (options.artifacts / now.model).string(), {{"epochs_done", std::to_string(epochs_done)}});
  save(optimizer, (options.artifacts / now.optimizer).string());
  save_config(Artifacts{options.settings, now}, config_file(options.artifacts));
  for (const std::string& old : {before.model, before.optimizer})
    if (!old.empty() && old != now.model && old != now.optimizer) std::filesystem::remove(options.artifacts / old);
  return now;
}

}  // namespace

double accuracy(const Model& model, const DatasetPtr<Image>& dataset, const Device& device) {
  const NoGrad pause;
  const Model quiet = valid(model);
  std::int64_t right = 0;
  DataLoader loader(dataset, ImageBatcher::normalized(), {.batch_size = 256, .workers = 1});
  for (ImageBatch& host : loader) {
    const auto [images, targets] = to_tensors(std::move(host), device);
    right += count_right(quiet.forward(images), targets);
  }
  return 100.0 * static_cast<double>(right) / static_cast<double>(std::max<std::int64_t>(dataset->size(), 1));
}

double train(const TrainOptions& options, const Device& plain) {
  Artifacts artifacts{options.settings, {}};
  const Device device = plain.autodiff();
  if (options.resume) {
    artifacts = load_config<Artifacts>(config_file(options.artifacts));
    artifacts.settings.epochs = options.settings.epochs;  // how far to go is the one setting that may change
  }
  Settings& settings = artifacts.settings;
  const Source source = open_source(settings.data);
  settings.data = source.location;  // what the environment said today must not matter tomorrow
  device.seed(settings.seed);
  Model model = kiln::train(settings.model.init(device));
  Adam optimizer = AdamConfig{}.init(model);
  if (options.resume) {
    model = kiln::train(load((options.artifacts / artifacts.checkpoint.model).string(), std::move(model)));
    optimizer = load((options.artifacts / artifacts.checkpoint.optimizer).string(), std::move(optimizer));
  }
  fmt::print("data: {}\ndevice: {}, {} parameters\n", source.name, device.name(), num_params(model));

  DataLoader loader(
      source.train, ImageBatcher::normalized(),
      {.batch_size = settings.batch_size, .shuffle = true, .seed = settings.seed, .workers = options.workers});
  double test_accuracy = artifacts.checkpoint.test_accuracy;
  for (std::int64_t epoch = artifacts.checkpoint.epochs_done; epoch < settings.epochs; ++epoch) {
    // Each epoch has an order and a stream of random numbers of its own: a resumed training repeats them.
    loader.set_epoch(epoch);
    device.seed(Key{settings.seed}.split(static_cast<std::uint64_t>(epoch) + 1).bits);
    ProgressBar progress(fmt::format("epoch {}/{}", epoch + 1, settings.epochs), source.train->size());
    double total_loss = 0;
    std::int64_t seen = 0, right = 0;
    for (ImageBatch& host : loader) {
      const auto [images, targets] = to_tensors(std::move(host), device);
      Tensor<2> logits;
      auto [loss, grads] = value_and_grad(model, [&](const Model& m) {
        logits = m.forward(images);
        return nn::CrossEntropyLoss{}.forward(logits, targets);
      });
      model = optimizer.step(settings.learning_rate, std::move(model), grads);

      const std::int64_t count = targets.numel();
      total_loss += static_cast<double>(loss.item()) * static_cast<double>(count);
      right += count_right(logits.detach(), targets);
      seen += count;
      progress.update(seen, total_loss / static_cast<double>(seen),
                      100.0 * static_cast<double>(right) / static_cast<double>(seen));
    }
    progress.finish();
    test_accuracy = accuracy(model, source.test, device);
    artifacts.checkpoint = save_checkpoint({settings, options.artifacts}, model, optimizer, epoch + 1, test_accuracy,
                                           artifacts.checkpoint);
    if (epoch + 1 < settings.epochs) fmt::print("test accuracy after epoch {}: {:.2f} %\n", epoch + 1, test_accuracy);
  }
  fmt::print("saved: {}\ntest accuracy {:.2f} %\n", config_file(options.artifacts), test_accuracy);
  return test_accuracy;
}

}  // namespace guide
