// What a module holds besides options: parameters, which training updates, and buffers, which a forward pass updates.
#pragma once
#include <utility>
#include <vector>

#include "kiln/core/ref.hpp"
#include "kiln/ops/backend.hpp"
#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln {
namespace nn {

/// What the device knows of a value.
Backend::State state_of(const Value& value);

/// The value as the leaf of a graph where its device is an autodiff device, otherwise the value unknown to any graph.
Value as_parameter(const Value& value);

/// What copies of a parameter have in common and no other parameter has.
struct Identity final : RefCounted {};

/// A tensor that training updates. It is what its tensor is, wherever a Tensor<D> is expected. Made on
/// `device.autodiff()` it requires a gradient, made on a plain device it cannot. A default-constructed one is absent: a
/// layer without bias.
///
/// A copy is the same parameter. In another model it is so until one of the two is updated; in the same model for good:
/// `model.output.weight = model.embedding.weight` ties them, and they are counted, trained, saved and moved as one (see
/// walk()). A parameter of its own, with the numbers of another tensor, is `Param(tensor)`; so is the one that takes
/// another's place, `p = Param(p * 0.5)`.
template <int D>
class Param : public Tensor<D> {
 public:
  Param() = default;
  /// Throws ShapeError or DTypeError where the value is not a float tensor of rank D.
  explicit Param(const Value& value)
      : Tensor<D>(as_parameter(value)), identity_(value.empty() ? Ref<Identity>() : make_ref<Identity>()) {}
  explicit Param(const Tensor<D>& tensor) : Param(tensor.value()) {}

  /// Null of an absent one.
  const Ref<Identity>& identity() const { return identity_; }

  /// A tensor is no parameter: nobody would train what it left here.
  template <int E, class K>
  Param& operator=(const Tensor<E, K>&) {
    static_assert(E < 0, "a tensor does not become a parameter by itself: write p = nn::Param(tensor)");
    return *this;
  }

 private:
  Ref<Identity> identity_;
};
template <int D>
Param(const Tensor<D>&) -> Param<D>;

#define KILN_NO_UPDATE(symbol)                                                                                      \
  template <int D, Operand Y>                                                                                       \
  Param<D>& operator symbol(Param<D>& p, const Y&) {                                                                \
    static_assert(D < 0, "a parameter is not updated in place: write p = nn::Param(p * y), which makes a new one"); \
    return p;                                                                                                       \
  }
KILN_NO_UPDATE(+=)
KILN_NO_UPDATE(-=)
KILN_NO_UPDATE(*=)
KILN_NO_UPDATE(/=)
#undef KILN_NO_UPDATE

/// A tensor that a forward pass updates: a running mean. It is not trained, but saved and moved with its module.
/// A copy has a value of its own. `set` is const because forward is: while it may be called (in Mode::Train) a module
/// belongs to one thread; in Mode::Valid it is only read, by any number of them.
template <int D>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(const Value& value) : tensor_(value.detach()) {}
  explicit Buffer(const Tensor<D>& tensor) : Buffer(tensor.value()) {}

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
  void set(const Tensor<D>& tensor) const { set(tensor.value()); }

 private:
  mutable Tensor<D> tensor_;
  mutable std::vector<Tensor<D>> before_;  // what it was before it was what may still fail, the oldest first
};

}  // namespace nn

template <int D>
struct OperandTraits<nn::Param<D>> : OperandTraits<Tensor<D>> {};

}  // namespace kiln
