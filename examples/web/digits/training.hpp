// Training the guide's model a few steps at a time, so that whoever asks for them can stop, draw and answer in between.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "examples/guide/model.hpp"
#include "kiln/data/image.hpp"
#include "kiln/data/loader.hpp"
#include "kiln/optim/rules/adam.hpp"

namespace digits {

struct TrainingSettings {
  std::int64_t epochs = 1, batch_size = 64, hidden_size = 512;
  double learning_rate = 1e-3, dropout = 0.5;
  std::uint64_t seed = 42;
};

/// After a step: its loss, and the share of its batch that was read right.
struct Progress {
  std::int64_t step = 0, steps = 0;  // of all epochs
  double loss = 0, accuracy = 0;
};

class Training {
 public:
  /// Throws ArgumentError for settings without meaning.
  Training(kiln::DatasetPtr<kiln::Image> train, kiln::DatasetPtr<kiln::Image> test, const TrainingSettings& settings,
           const kiln::Device& device);

  /// At most `count` further steps; `after` is told of each, and returns false to stop. True while steps are left.
  bool run(std::int64_t count, const std::function<bool(const Progress&)>& after);
  /// The share of the first `count` test digits that is read right.
  double test_accuracy(std::int64_t count) const;
  /// For reading: in Mode::Valid.
  guide::Model model() const;

 private:
  using Loader = kiln::DataLoader<kiln::ImageBatch>;
  Progress step(kiln::ImageBatch batch);

  TrainingSettings settings_;
  kiln::Device device_;
  kiln::DatasetPtr<kiln::Image> test_;
  Loader loader_;
  std::optional<Loader::Iterator> at_;
  guide::Model model_;
  kiln::Adam optimizer_;
  Progress progress_;
};

}  // namespace digits
