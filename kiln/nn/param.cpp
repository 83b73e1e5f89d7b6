#include "kiln/nn/param.hpp"

namespace kiln::nn {

Backend::State state_of(const Value& value) {
  return value.node() ? value.device().backend().state(value) : Backend::State::Arrived;
}

namespace {

/// The value, which is to stay on the part of its device where it is: operations with a parameter run there.
Value staying(const Value& value) {
  const Node& node = *value.node();
  Device::Place place = node.device.place();
  if (place.part < 0 || place.chosen) return value.detach();
  place.chosen = true;
  const auto kept = make_ref<Node>(node.desc, node.device);
  kept->device.set_place(place);
  kept->strides = node.strides;
  kept->offset = node.offset;
  kept->storage = node.storage;
  return Value(kept);
}

}  // namespace

Value as_parameter(const Value& value, bool trained) {
  if (value.empty()) return value;
  const Value data = value.node() ? staying(value) : value.detach();
  return trained && is_float(data.dtype()) && data.device().is_autodiff() ? data.require_grad() : data;
}

}  // namespace kiln::nn
