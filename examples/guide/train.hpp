// Training the guide's model: epochs over the data, a checkpoint after each, the accuracy on the test set.
#pragma once
#include <filesystem>

#include "examples/guide/settings.hpp"
#include "kiln/data/dataset.hpp"
#include "kiln/data/image.hpp"

namespace guide {

struct TrainOptions {
  Settings settings;
  std::filesystem::path artifacts = "artifacts/guide";
  bool resume = false;  // go on after the last finished epoch of `artifacts`, to the same weights
  int workers = 1;      // threads that prepare batches
};

/// Prints progress; the last line is "test accuracy NN.NN %". Returns that accuracy.
double train(const TrainOptions& options, const Device& device);

/// Percent of the data set that the model classifies right.
double accuracy(const Model& model, const DatasetPtr<Image>& dataset, const Device& device);

}  // namespace guide
