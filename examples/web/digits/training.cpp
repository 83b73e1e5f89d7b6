#include "examples/web/digits/training.hpp"

#include "examples/web/digits/reader.hpp"
#include "kiln/data/image_tensors.hpp"

namespace digits {
namespace {

using namespace kiln;

TrainingSettings checked(const TrainingSettings& settings) {
  const auto within = [](double number, double most) { return number > 0 && number <= most; };
  require<ArgumentError>(within(static_cast<double>(settings.epochs), 1000), "digits: epochs should be 1 to 1000, not ",
                         settings.epochs);
  require<ArgumentError>(within(static_cast<double>(settings.batch_size), 4096),
                         "digits: batch_size should be 1 to 4096, not ", settings.batch_size);
  require<ArgumentError>(within(static_cast<double>(settings.hidden_size), 4096),
                         "digits: hidden_size should be 1 to 4096, not ", settings.hidden_size);
  require<ArgumentError>(within(settings.learning_rate, 1),
                         "digits: learning_rate should be above 0 and at most 1, not ", settings.learning_rate);
  require<ArgumentError>(settings.dropout >= 0 && settings.dropout < 1, "digits: dropout should be 0 to 1, not ",
                         settings.dropout);
  return settings;
}

guide::ModelConfig config_of(const TrainingSettings& settings, const Device& device) {
  device.seed(settings.seed);
  return {.hidden_size = settings.hidden_size, .dropout = settings.dropout};
}

}  // namespace

Training::Training(DatasetPtr<Image> train, DatasetPtr<Image> test, const TrainingSettings& settings,
                   const Device& device)
    : settings_(checked(settings)),
      device_(device.autodiff()),
      test_(std::move(test)),
      loader_(std::move(train), ImageBatcher::normalized(),
              {.batch_size = settings.batch_size, .shuffle = true, .seed = settings.seed}),
      model_(kiln::train(config_of(settings_, device_).init(device_))),
      optimizer_(AdamConfig{}.init(model_)) {
  progress_.steps = settings.epochs * loader_.size();
}

Progress Training::step(ImageBatch batch) {
  const auto [images, targets] = to_tensors(std::move(batch), device_);
  Tensor<2> scores;
  auto [loss, gradients] = value_and_grad(model_, [&, &images = images, &targets = targets](const guide::Model& model) {
    scores = model.forward(images);
    return nn::CrossEntropyLoss{}.forward(scores, targets);
  });
  model_ = optimizer_.step(settings_.learning_rate, std::move(model_), gradients);
  ++progress_.step;
  progress_.loss = loss.item();
  progress_.accuracy = scores.argmax(1).eq(targets).to_float().mean().item();
  return progress_;
}

bool Training::run(std::int64_t count, const std::function<bool(const Progress&)>& after) {
  for (; count > 0 && progress_.step < progress_.steps; --count) {
    if (!at_ || *at_ == std::default_sentinel) at_.emplace(loader_.begin());
    const Progress done = step(std::move(**at_));
    ++*at_;
    if (!after(done)) break;
  }
  return progress_.step < progress_.steps;
}

double Training::test_accuracy(std::int64_t count) const {
  const guide::Model used = model();
  DataLoader<ImageBatch> loader(test_, ImageBatcher::normalized(), {.batch_size = 250});
  const NoGrad none;
  double right = 0, seen = 0;
  for (ImageBatch& batch : loader) {
    if (seen >= static_cast<double>(count)) break;
    const auto [images, targets] = to_tensors(std::move(batch), device_.inner());
    right += static_cast<double>(used.forward(images).argmax(1).eq(targets).to_int().sum().item());
    seen += static_cast<double>(targets.numel());
  }
  return seen > 0 ? right / seen : 0;
}

guide::Model Training::model() const { return valid(model_); }

}  // namespace digits
