// Training the guide's model by a Learner: epochs over the data, a checkpoint and the accuracy on the test set after each.
#pragma once
#include <filesystem>

#include "examples/guide/settings.hpp"
#include "kiln/train/output.hpp"

namespace guide {

struct TrainOptions {
  Settings settings;
  std::filesystem::path artifacts = "artifacts/guide";
  bool resume = false;  // go on where the newest checkpoint of `artifacts` is, to the same weights
  bool plain = false;   // lines of progress rather than a dashboard, which there is on a terminal alone
  int workers = 1;      // threads that prepare batches
};

/// Prints progress; the last line is "test accuracy NN.NN %". Returns that accuracy.
double train(const TrainOptions& options, const Device& device);

}  // namespace guide
