// Batch norm over the batches of several ranks together:
//
//   model = nn::sync_batch_norm(std::move(model), ranks);
#pragma once
#include "kiln/nn/module.hpp"
#include "kiln/nn/norm/batch_norm.hpp"

namespace kiln::nn {

/// Each BatchNorm in the model takes its mean and variance, while it is trained, from what all ranks have of a batch, as
/// one would that had all of it; the parts may be of unequal size. A rank without anything is an error: ranks have as many
/// batches. With a rank alone, or `alone()`, it is as it was.
template <Module M>
[[nodiscard("sync_batch_norm() changes no model: it returns one")]] M sync_batch_norm(M model, const Ranks& ranks);

/// As batch_norm_training(), over the ranks' batches; mean and variance are the same everywhere. Throws ShapeError where x
/// has no elements.
BatchNormResult sync_batch_norm_training(const Value& x, const Value& running_mean, const Value& running_variance,
                                         const Value& weight, const Value& bias, const BatchNormOptions& options,
                                         const Ranks& ranks);

void set_ranks(const ModuleRef& model, const Ranks& ranks);

template <Module M>
M sync_batch_norm(M model, const Ranks& ranks) {
  set_ranks(model, ranks);
  return model;
}

}  // namespace kiln::nn
