#include "kiln/nn/gradients.hpp"

#include <utility>

#include "kiln/nn/module/untrained.hpp"
#include "kiln/ops/record.hpp"
#include "kiln/ops/scope/no_grad.hpp"

namespace kiln {

GradientsParams GradientsParams::from(const Gradients& gradients, const nn::ModuleView& model) {
  GradientsParams result;
  visit_params(model, [&](const std::string& path, const nn::AnyLeaf& param) {
    if (auto found = gradients.find(param.value())) result.by_path.emplace(path, found->detach());
  });
  return result;
}

namespace nn {
namespace {

void require_leaf(std::string_view function, const std::string& path, const Value& param) {
  const Device device = param.device();
  require<AutodiffError>(device.is_autodiff(), function, ": parameter '", path, "' was made on the plain device ",
                         device, "; make the model on device.autodiff()");
  require<AutodiffError>(param.tracked() && param.tape()->is_leaf(), function, ": parameter '", path,
                         "' was assigned a tensor that is no parameter; write nn::Param(tensor)");
}

}  // namespace

void require_trainable(std::string_view function, const ModuleView& model) {
  std::int64_t params = 0, trained = 0;
  walk(model, [&](const PartPath& place, const AnyLeaf& leaf) {
    watch_untrained(place, leaf);
    if (!leaf.is_param() || leaf.empty()) return;
    ++params;
    if (leaf.is_frozen()) return;
    ++trained;
    require_leaf(function, place.path, leaf.value());
  });
  if (params == 0) fail<AutodiffError>(function, ": the model has no parameters", advice_without_params(model));
  require<AutodiffError>(trained > 0, function,
                         ": all parameters of the model are frozen: unfreeze(model) makes one that is trained");
}

namespace {

constexpr std::string_view kFunction = "value_and_grad";

/// Runs `loss`, and differentiates its result by differentiate(loss), which returns whether the model took part.
Value differentiated(const ModuleView& model, FunctionRef<Value()> loss,
                     FunctionRef<bool(const Value&)> differentiate) {
  require_trainable(kFunction, model);
  const ParamNames names(model);
  const Value value = loss();
  require<AutodiffError>(grad_enabled(), kFunction, ": NoGrad is on, so nothing is recorded");
  require<AutodiffError>(value.tracked(), kFunction, ": the loss does not depend on the model's parameters");
  require<AutodiffError>(differentiate(value), kFunction,
                         ": the loss does not depend on the model's parameters, though on others");
  return value.detach();
}

}  // namespace

ValueAndGrad<Value> value_and_grad(const ModuleView& model, FunctionRef<Value()> loss) {
  ValueAndGrad<Value> result;
  result.loss = differentiated(model, loss, [&](const Value& value) {
    result.grads = GradientsParams::from(backward(value), model);
    return !result.grads.by_path.empty();
  });
  return result;
}

Value differentiate(const ModuleView& model, FunctionRef<Value()> loss,
                    FunctionRef<void(const std::string& path, Value grad)> take) {
  return differentiated(model, loss, [&](const Value& value) {
    std::map<const Record*, std::string> paths;
    visit_params(model, [&](const std::string& path, const AnyLeaf& param) {
      if (param.value().tracked()) paths.emplace(param.value().tape().get(), path);
    });
    bool any = false;
    (void)backward(value, [&](Gradients::Entry& entry) {
      const auto path = paths.find(entry.leaf.get());
      if (path == paths.end()) return;
      any = true;
      take(path->second, std::exchange(entry.grad, {}).detach());
    });
    return any;
  });
}

}  // namespace nn
}  // namespace kiln
