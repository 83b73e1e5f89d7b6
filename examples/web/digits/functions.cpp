#include "examples/web/digits/functions.hpp"

#include <array>

#include "examples/web/digits/reader.hpp"
#include "examples/web/digits/training.hpp"
#include "kiln/data/compose/kept.hpp"
#include "kiln/data/digits.hpp"
#include "kiln/data/mnist.hpp"

namespace {

using namespace kiln;
using digits::Training;
using digits::TrainingSettings;

std::shared_ptr<guide::Model> reader(const TensorData& file, const std::string& name) {
  return std::make_shared<guide::Model>(digits::model_from(file.bytes(), name, browser::default_device()));
}
std::shared_ptr<guide::Model> trained_reader(const std::shared_ptr<Training>& training) {
  return std::make_shared<guide::Model>(training->model());
}
digits::Reading read(const std::shared_ptr<guide::Model>& model, const TensorData& drawing) {
  return digits::read(*model, drawing);
}

/// MNIST's files, as they are downloaded.
struct MnistFiles {
  TensorData train_images, train_labels, test_images, test_labels;
};
std::shared_ptr<Training> train_on_mnist(const MnistFiles& files, const TrainingSettings& settings) {
  return std::make_shared<Training>(
      share(Mnist::parse(files.train_images.bytes(), "train-images", files.train_labels.bytes(), "train-labels")),
      share(Mnist::parse(files.test_images.bytes(), "t10k-images", files.test_labels.bytes(), "t10k-labels")), settings,
      browser::default_device());
}
/// Digits that Kiln draws, as the guide's without MNIST.
std::shared_ptr<Training> train_on_drawn(std::int64_t count, const TrainingSettings& settings) {
  return std::make_shared<Training>(cached(Digits({.count = count, .seed = 1})),
                                    cached(Digits({.count = 2000, .seed = 2})), settings, browser::default_device());
}

bool train(const std::shared_ptr<Training>& training, std::int64_t steps, const browser::Callback& after) {
  return training->run(steps, [&](const digits::Progress& progress) { return after.call(browser::to_item(progress)); });
}
double test_accuracy(const std::shared_ptr<Training>& training, std::int64_t count) {
  return training->test_accuracy(count);
}

constexpr std::array kFunctions{
    browser::function<reader>("reader"),
    browser::function<trained_reader>("trained_reader"),
    browser::function<read>("read"),
    browser::function<train_on_mnist>("train_on_mnist"),
    browser::function<train_on_drawn>("train_on_drawn"),
    browser::function<train>("train"),
    browser::function<test_accuracy>("test_accuracy"),
};

}  // namespace

std::span<const browser::Function> digits::functions() { return kFunctions; }
