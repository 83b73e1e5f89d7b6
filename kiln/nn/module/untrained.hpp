// Tensors of a model that look like parameters and are none.
#pragma once
#include <string>

#include "kiln/nn/walk.hpp"

namespace kiln::nn {

/// Warns once of a tensor that requires gradients and is no parameter: a field Tensor<2> that should be a Param<2>.
/// Tensors that are computed are left alone: gradients flow through them.
void watch_untrained(const PartPath& place, const AnyLeaf& leaf);

/// Says of a model without parameters which of its tensors may be meant; an empty text if it has no tensors.
std::string advice_without_params(const ModuleView& model);

}  // namespace kiln::nn
