// Histograms of a model's parameters and of their gradients while it is trained.
#pragma once
#include <cstdint>

#include "kiln/nn/gradients.hpp"
#include "kiln/nn/module/selector.hpp"
#include "kiln/train/run.hpp"

namespace kiln {

struct HistogramConfig {
  std::int64_t every = 100;          // steps between two of them; the first is of the first step
  Selector which = Selector::all();  // parameters; frozen ones are left out
  bool weights = true, gradients = true;
  int buckets = 30;

  /// Throws ArgumentError.
  void check() const;
};

namespace training {

/// Sends an event for each selected parameter and gradient of the step that is about to be taken. Reads them, and so
/// waits for the device.
void report_distributions(const HistogramConfig& config, const TrainingRun& run, const nn::ModuleView& model,
                          const GradientsParams& grads);

}  // namespace training
}  // namespace kiln
