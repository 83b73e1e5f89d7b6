// Training the guide's model by a Learner: epochs over the data, a checkpoint and the accuracy on the test set after each.
#pragma once
#include <filesystem>
#include <set>
#include <string>

#include "examples/guide/settings.hpp"
#include "kiln/train/output.hpp"
#include "kiln/train/show/watch.hpp"

namespace guide {

struct TrainOptions {
  Settings settings;
  std::set<std::string> said =
      {};  // the settings' options that were said, as --lr: a training that goes on must have them so
  std::filesystem::path artifacts = "artifacts/guide";
  bool resume = false;  // go on where the newest checkpoint of `artifacts` is, to the same weights
  Watch watch = {};
  int workers = 1;  // threads that prepare batches
};

/// Prints progress; the last line is "test accuracy NN.NN %". Returns that accuracy.
double train(const TrainOptions& options, const Device& device);

}  // namespace guide
