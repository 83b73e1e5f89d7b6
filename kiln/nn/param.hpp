// What a module holds besides options: parameters, which training updates, and buffers, which a forward pass updates.
#pragma once
#include <utility>
#include <vector>

#include "kiln/ops/backend.hpp"
#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln {
namespace nn {

/// What the device knows of a value.
Backend::State state_of(const Value& value);

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

  /// The value set last, unless that could not be computed (its batch held a wrong index, or found no memory).
  const Tensor<D>& get() const {
    for (std::size_t i = before_.size() + 1; i-- > 0;) {
      const Tensor<D>& tensor = i < before_.size() ? before_[i] : tensor_;
      if (state_of(tensor.value()) != Backend::State::Failed) return tensor;
    }
    return tensor_;
  }
  const Value& value() const { return get().value(); }
  bool empty() const { return tensor_.empty(); }
  const Shape& shape() const { return tensor_.shape(); }
  void set(const Value& value) const {
    const Tensor<D> last = get();
    if (state_of(last.value()) == Backend::State::Arrived) before_.clear();
    before_.push_back(last);
    tensor_ = Tensor<D>(value.detach());
  }

 private:
  mutable Tensor<D> tensor_;
  mutable std::vector<Tensor<D>> before_;  // what it was before it was what may still fail, the oldest first
};

}  // namespace nn

template <int D>
struct OperandTraits<nn::Param<D>> : OperandTraits<Tensor<D>> {};

}  // namespace kiln
