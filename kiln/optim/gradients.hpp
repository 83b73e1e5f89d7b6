// Gradients of several batches, or of several devices, made into one.
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

/// Gradients of copies of a model, on whatever devices these are, added on `device`: those of the whole batch where
/// each loss was a share of its sum. A parameter that took no part in some adds nothing there. Halves are added in
/// float32. Throws ShapeError where the gradients of a parameter differ in shape.
GradientsParams sum_of(std::span<const GradientsParams> grads, const Device& device);
/// The same divided by their number: those of the whole batch where each loss was the mean of its share, of equal size.
/// Throws ArgumentError for none at all.
GradientsParams mean_of(std::span<const GradientsParams> grads, const Device& device);

/// Gradients of one batch after the other. What was added is computed before add() returns, so that no batch keeps its
/// memory.
class GradientsAccumulator {
 public:
  /// Throws what sum_of() does, and then has what it had.
  void add(const GradientsParams& grads);
  /// How often something was added.
  std::int64_t count() const { return count_; }
  /// What was added, or its mean; and begins anew. Throws ArgumentError where there was nothing.
  GradientsParams sum();
  GradientsParams mean();

 private:
  GradientsParams sum_;
  std::int64_t count_ = 0;
};

}  // namespace kiln
