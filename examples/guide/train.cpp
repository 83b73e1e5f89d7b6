#include "examples/guide/train.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "examples/guide/model.hpp"
#include "examples/guide/progress.hpp"
#include "examples/guide/source.hpp"
#include "kiln/core/config/config.hpp"
#include "kiln/core/file.hpp"
#include "kiln/data/image_tensors.hpp"
#include "kiln/data/loader.hpp"
#include "kiln/optim/rules/adam.hpp"
#include "kiln/store/save.hpp"

namespace guide {
namespace {

std::int64_t count_right(const Tensor<2>& logits, const Tensor<1, Int>& targets) {
  return logits.argmax(1).eq(targets).to_int().sum().item();
}

/// A file of a checkpoint: model-3.safetensors, optimizer-3-again.safetensors.
bool is_of_checkpoint(std::string_view name) {
  for (const std::string_view kind : {"model-", "optimizer-"}) {
    if (!name.starts_with(kind)) continue;
    const std::string_view rest = name.substr(std::min(name.find_first_not_of("0123456789", kind.size()), name.size()));
    return rest.size() + kind.size() < name.size() && (rest == ".safetensors" || rest == "-again.safetensors");
  }
  return false;
}

/// Of checkpoints, leaves in the folder only what belongs to `kept`: others are of epochs before, or of a training that
/// was killed before config.json could name them.
void remove_others(const std::filesystem::path& artifacts, const Checkpoint& kept) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(artifacts)) {
    const std::string name = entry.path().filename().string();
    if (is_of_checkpoint(name) && name != kept.model && name != kept.optimizer)
      std::filesystem::remove(entry.path(), ignored);
  }
}

/// Makes the folder, or says at once why nothing can be saved there; what killed trainings left goes. Returns the
/// checkpoint that config.json names.
Checkpoint prepare(const std::filesystem::path& artifacts) {
  std::error_code error;
  std::filesystem::create_directories(artifacts, error);
  require<IoError>(std::filesystem::is_directory(artifacts), "cannot save to ", artifacts.string(), ": ",
                   error ? error.message() : "it is no directory");
  require<IoError>(::access(artifacts.c_str(), W_OK | X_OK) == 0, "cannot save to ", artifacts.string(),
                   ": the directory takes no files");
  remove_abandoned(artifacts.string());
  Checkpoint saved;
  if (std::filesystem::exists(config_file(artifacts))) {
    try {
      saved = load_config<Artifacts>(config_file(artifacts)).checkpoint;
    } catch (const Error&) { return {}; }  // whatever it names stays, until a training has succeeded
  }
  remove_others(artifacts, saved);
  return saved;
}

/// Saves what belongs to a finished epoch; the files of the epoch before go only when config.json names the new ones.
Checkpoint save_checkpoint(const TrainOptions& options, const Model& model, const Adam& optimizer,
                           std::int64_t epochs_done, double test_accuracy, const Checkpoint& before) {
  // A training that begins again must not write over what config.json names.
  const char* again = before.model == fmt::format("model-{}.safetensors", epochs_done) ? "-again" : "";
  const Checkpoint now{epochs_done, fmt::format("model-{}{}.safetensors", epochs_done, again),
                       fmt::format("optimizer-{}{}.safetensors", epochs_done, again), test_accuracy};
  save(model, (options.artifacts / now.model).string(), {{"epochs_done", std::to_string(epochs_done)}});
  save(optimizer, (options.artifacts / now.optimizer).string());
  save_config(Artifacts{options.settings, now}, config_file(options.artifacts));
  remove_others(options.artifacts, now);
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
  Checkpoint saved = prepare(options.artifacts);
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
    saved = save_checkpoint({settings, options.artifacts}, model, optimizer, epoch + 1, test_accuracy, saved);
    if (epoch + 1 < settings.epochs) fmt::print("test accuracy after epoch {}: {:.2f} %\n", epoch + 1, test_accuracy);
  }
  fmt::print("saved: {}\ntest accuracy {:.2f} %\n", config_file(options.artifacts), test_accuracy);
  return test_accuracy;
}

}  // namespace guide
