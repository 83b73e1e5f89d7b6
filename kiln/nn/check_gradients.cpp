#include "kiln/nn/check_gradients.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>

#include "kiln/ops/functions.hpp"
#include "kiln/ops/scope/no_grad.hpp"

namespace kiln::nn {
namespace {

void make_float64(const ModuleRef& model) {
  visit_tensors(model, [](const std::string&, Value& value) {
    if (is_float(value.dtype())) value = cast(value.detach(), DType::F64);
  });
}

std::map<std::string, Value> trained(const ModuleView& model) {
  std::map<std::string, Value> found;
  visit_params(model, [&](const std::string& path, const AnyLeaf& param) {
    if (!param.is_frozen() && is_float(param.value().dtype())) found.emplace(path, param.value());
  });
  return found;
}

/// Sets a parameter, in all places that share it.
void set(const ModuleRef& model, std::string_view path, const Value& value) {
  visit_params(model, [&](const std::string& each, AnyLeaf& param) {
    if (each == path) param.set(value);
  });
}

/// A value of the same shape, with one other element.
Value changed(const Value& value, std::int64_t element, double to) {
  TensorData data = value.data();
  data.as<double>()[static_cast<std::size_t>(element)] = to;
  return from_data(std::move(data), value.device());
}

}  // namespace

void check_gradients(const ModuleRef& model, FunctionRef<Value()> loss, const GradientCheck& how) {
  require<ArgumentError>(how.step > 0 && how.tolerance > 0 && how.elements > 0, "check_gradients: step = ", how.step,
                         ", tolerance = ", how.tolerance, " and elements = ", how.elements, " must be positive");
  make_float64(model);
  const auto quiet = [&] {
    const NoGrad pause;
    return loss().item();
  };
  const double first = quiet(), second = quiet();
  require<ArgumentError>(std::isfinite(first), "check_gradients: the loss is ", first,
                         ", which has no differences: look for NaN in the model and in the data");
  require<ArgumentError>(first == second, "check_gradients: the loss of the same model is ", first, " and then ",
                         second, ": switch dropout off by valid(model), and draw no random numbers in the loss");
  const GradientsParams grads = nn::value_and_grad(model, loss).grads;
  for (const auto& [path, own] : trained(model)) {
    const TensorData numbers = own.data();
    const Value* const found = grads.find(path);
    const std::optional<TensorData> gradient = found ? std::optional(found->data()) : std::nullopt;
    const std::int64_t count = numel(own.shape()), tried = std::min(count, how.elements);
    for (std::int64_t i = 0; i < tried; ++i) {
      const std::int64_t element = i * count / tried;
      const double at = numbers.at(element), step = how.step * (1 + std::abs(at));
      const auto loss_at = [&, &path = path, &own = own](double number) {
        set(model, path, changed(own, element, number));
        return quiet();
      };
      const double above = loss_at(at + step), below = loss_at(at - step);
      const double difference = (above - below) / (2 * step), said = gradient ? gradient->at(element) : 0;
      require<AutodiffError>(std::abs(said - difference) <= how.tolerance * (1 + std::abs(said)),
                             "check_gradients: the gradient of element ", element, " of '", path, "' is ", said,
                             gradient ? "" : ", as it took no part in the loss", ", and differences of the loss say ",
                             difference);
    }
    set(model, path, own);
  }
}

}  // namespace kiln::nn
