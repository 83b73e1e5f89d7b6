// Batch norm over the joint batches of several ranks:
//
//   model = nn::sync_batch_norm(std::move(model), ranks);
#pragma once
#include "kiln/nn/module.hpp"
#include "kiln/nn/norm/batch_norm.hpp"

namespace kiln::nn {

/// In training, each BatchNorm in the model uses the mean and variance over all ranks' parts of a batch, as if one rank
/// had all of it; the parts may have different sizes. A rank without any elements is an error: all ranks must have as
/// many batches. With a single rank, or `alone()`, nothing changes.
template <Module M>
[[nodiscard("sync_batch_norm() changes no model: it returns one")]] M sync_batch_norm(M model, const Ranks& ranks);

/// batch_norm_training() over the ranks' batches; mean and variance are the same on all. Throws ShapeError if x has no
/// elements.
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
