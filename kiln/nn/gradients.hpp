// Gradients of a model: which belongs to which parameter.
#pragma once
#include <map>
#include <string>

#include "kiln/autodiff/backward.hpp"
#include "kiln/nn/module.hpp"

namespace kiln {

/// The gradient of each parameter that took part in a loss, by the parameter's path. A value: it can be clipped,
/// averaged with others, sent to another thread.
struct GradientsParams {
  std::map<std::string, Value, std::less<>> by_path;

  /// Parameters that took no part are left out.
  template <Module M>
  static GradientsParams from(const Gradients& gradients, const M& model) {
    GradientsParams result;
    visit_params(model, [&](const std::string& path, const auto& param) {
      if (auto found = gradients.find(param)) result.by_path.emplace(path, found->detach());
    });
    return result;
  }
  /// Null where the parameter took no part.
  const Value* find(std::string_view path) const {
    const auto found = by_path.find(path);
    return found == by_path.end() ? nullptr : &found->second;
  }
};

/// auto [loss, grads] = value_and_grad(...)
template <class Loss>
struct ValueAndGrad {
  Loss loss;  // detached: its graph is gone
  GradientsParams grads;
};

namespace nn {

/// Throws AutodiffError unless every parameter is tracked and there is one.
template <Module M>
void require_trainable(std::string_view function, const M& model) {
  bool any = false;
  visit_params(model, [&](const std::string& path, const auto& param) {
    any = true;
    require<AutodiffError>(param.tracked(), function, ": parameter '", path, "' was made on the plain device ",
                           param.device(), "; make the model on device.autodiff()");
  });
  require<AutodiffError>(any, function, ": the model has no parameters");
}

}  // namespace nn

/// Calls f(model), whose result is a loss of rank 0, and differentiates by the model's parameters.
/// Throws AutodiffError where the model was not made on an autodiff device.
template <Module M, class F>
auto value_and_grad(const M& model, F&& f) {
  using Loss = std::remove_cvref_t<std::invoke_result_t<F&, const M&>>;
  static_assert(std::is_same_v<Loss, Tensor<0>>, "value_and_grad: the function must return a Tensor<0>, the loss");
  nn::require_trainable("value_and_grad", model);
  const Loss loss = f(model);
  return ValueAndGrad<Loss>{loss.detach(), GradientsParams::from(backward(loss), model)};
}

}  // namespace kiln
