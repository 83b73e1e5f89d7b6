// What a module holds besides options: parameters, which training updates, and buffers, which a forward pass updates.
#pragma once
#include <utility>

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln {
namespace nn {

/// The value as the leaf of a graph where its device is an autodiff device, otherwise the value unknown to any graph.
Value as_parameter(const Value& value);

/// A tensor that training updates. It is what its tensor is, wherever a Tensor<D> is expected; its identity is the leaf
/// of its tape: copies of a module share it until one of them is updated. Made on `device.autodiff()` it requires a
/// gradient, made on a plain device it cannot. A default-constructed one is absent: a layer without bias.
template <int D>
class Param : public Tensor<D> {
 public:
  Param() = default;
  /// Throws ShapeError or DTypeError where the value is not a float tensor of rank D.
  explicit Param(const Value& value) : Tensor<D>(as_parameter(value)) {}
};

/// A tensor that a forward pass updates: a running mean. It is not trained, but saved and moved with its module.
/// A copy has a value of its own. `set` is const because forward is: while it may be called (in Mode::Train) a module
/// belongs to one thread; in Mode::Valid it is only read, by any number of them.
template <int D>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(const Value& value) : tensor_(value.detach()) {}

  const Tensor<D>& get() const { return tensor_; }
  const Value& value() const { return tensor_.value(); }
  bool empty() const { return tensor_.empty(); }
  const Shape& shape() const { return tensor_.shape(); }
  void set(const Value& value) const { tensor_ = Tensor<D>(value.detach()); }

 private:
  mutable Tensor<D> tensor_;
};

}  // namespace nn

template <int D>
struct OperandTraits<nn::Param<D>> : OperandTraits<Tensor<D>> {};

}  // namespace kiln
