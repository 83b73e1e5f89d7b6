// Compares the gradients of a model with differences of its loss, in float64.
//
//   check_gradients(layer, [&](const MyLayer& m) { return m.forward(x).square().mean(); });
#pragma once
#include <cstdint>
#include <utility>

#include "kiln/nn/gradients.hpp"
#include "kiln/nn/module.hpp"

namespace kiln {

struct GradientCheck {
  double step = 1e-5;          // by which an element is moved in both directions, times 1 + its size
  double tolerance = 1e-5;     // of the difference, times 1 + the size of the gradient
  std::int64_t elements = 32;  // of each parameter, at most; evenly spread over it
};

namespace nn {
/// check_gradients() without types. Changes the model: its tensors become float64.
void check_gradients(const ModuleRef& model, FunctionRef<Value()> loss, const GradientCheck& how);
}  // namespace nn

/// Calls loss(copy), of rank 0, with a float64 copy of the model, and compares its gradients with central differences:
/// two more calls for each element. Returns if all agree. Throws AutodiffError with the parameter's path, the element
/// and both numbers where they do not, and like value_and_grad(); ArgumentError if the loss is not finite, if two calls
/// with the same model differ, as those of dropout do in training, or if `how` has a number that is not positive.
///
/// A tensor that `loss` brings may be float32: its product with a float64 parameter is float64. Near a kink (0 of
/// relu()) a difference is no gradient: take other data, or a smaller step.
template <Module M, class F>
void check_gradients(const M& model, F&& loss, const GradientCheck& how = {}) {
  M copy = model;
  nn::check_gradients(copy, [&]() -> Value { return Tensor<0>(loss(std::as_const(copy))).value(); }, how);
}

}  // namespace kiln
