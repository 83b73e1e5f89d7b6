// Combines gradients of several batches, or of several devices.
//
//   GradientsAccumulator accumulator;
//   for (const Batch& part : parts) accumulator.add(value_and_grad(model, loss_of(part)).grads);
//   model = optimizer.step(rate, std::move(model), accumulator.mean());
#pragma once
#include <span>

#include "kiln/nn/gradients.hpp"

namespace kiln {

/// The gradients on `device`.
GradientsParams to_device(GradientsParams grads, const Device& device);

/// Adds gradients of copies of a model, which may be on any devices, on `device`: they are those of the whole batch if
/// each loss was a share of its sum. A parameter that took no part in some adds nothing there. Halves are added in
/// float32. Throws ShapeError if the gradients of a parameter differ in shape.
GradientsParams sum_of(std::span<const GradientsParams> grads, const Device& device);
/// The sum divided by the number of gradients: the gradients of the whole batch if each loss was the mean over an equal
/// share of it. Throws ArgumentError if there are none.
GradientsParams mean_of(std::span<const GradientsParams> grads, const Device& device);

/// Accumulates gradients of successive batches. add() starts to compute the sum, so that a batch keeps its memory no longer
/// than that takes; on a router, MicroBatches bounds how many batches that are.
class GradientsAccumulator {
 public:
  /// Throws what sum_of() throws, and is unchanged then.
  void add(const GradientsParams& grads);
  /// How many gradients were added.
  std::int64_t count() const { return count_; }
  /// Returns the sum, or the mean, and starts again from zero. Throws ArgumentError if nothing was added.
  GradientsParams sum();
  GradientsParams mean();

 private:
  GradientsParams sum_;
  std::int64_t count_ = 0;
};

}  // namespace kiln
