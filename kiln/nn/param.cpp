#include "kiln/nn/param.hpp"

namespace kiln::nn {

Backend::State state_of(const Value& value) {
  return value.node() ? value.device().backend().state(value) : Backend::State::Arrived;
}

Value as_parameter(const Value& value, bool trained) {
  if (value.empty()) return value;
  const Value data = value.detach();
  return trained && is_float(data.dtype()) && data.device().is_autodiff() ? data.require_grad() : data;
}

}  // namespace kiln::nn
