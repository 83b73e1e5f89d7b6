#include "kiln/ops/value.hpp"

#include <utility>

#include "kiln/ops/record.hpp"

namespace kiln {
void destroy(const Node* node) { delete node; }

const Shape& Value::shape_of_number() const {
  static const Shape scalar_shape;
  require<ArgumentError>(is_scalar_, "an empty Value has no shape");
  return scalar_shape;
}

DType Value::dtype_of_number() const {
  require<ArgumentError>(is_scalar_, "an empty Value has no element type");
  switch (scalar_.kind()) {
    case Kind::Float: return DType::F32;
    case Kind::Int: return DType::I64;
    case Kind::Bool: return DType::Bool;
  }
  KILN_CHECK(false);
  return DType::F32;
}

std::int64_t Value::dim(int i) const { return shape()[wrap_dim("dim", i, rank())]; }

Device Value::device() const { return node_ ? node_->device : Device{}; }

Value Value::require_grad() const {
  require<AutodiffError>(node_ && is_float(dtype()), "require_grad: only a tensor of floats can have a gradient, got ",
                         *this);
  require<AutodiffError>(device().is_autodiff(), "require_grad: device ", device(),
                         " does not differentiate; make the tensor on device.autodiff()");
  return Value(node_, make_leaf(node_->desc, node_->device));
}

TensorData Value::data() const {
  require<ArgumentError>(!empty(), "an empty Value has no data");
  if (is_scalar_) {
    TensorData data(Shape{}, dtype());
    switch (scalar_.kind()) {
      case Kind::Float: data.as<float>()[0] = scalar_.to<float>(); break;
      case Kind::Int: data.as<std::int64_t>()[0] = scalar_.to<std::int64_t>(); break;
      case Kind::Bool: data.as<bool>()[0] = scalar_.to<bool>(); break;
    }
    return data;
  }
  return device().backend().download(*this);
}

double Value::item() const {
  require<ShapeError>(numel() == 1, "item: ", *this, " has ", numel(),
                      " elements, not one: index the one you want first, or read all by to_vector()");
  return is_scalar_ ? scalar_.to<double>() : data().at(0);
}

void append(std::string& out, const Value& value) {
  if (value.empty()) out += "nothing";
  else if (value.is_scalar()) append(out, value.scalar());
  else out += text(value.dtype(), " ", value.shape());
}

}  // namespace kiln
