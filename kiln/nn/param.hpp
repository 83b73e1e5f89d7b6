// What a module holds besides options: parameters, which training updates unless they are frozen, and buffers, which a
// forward pass updates.
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

/// The value as the leaf of a graph where its device is an autodiff device and it can be trained, otherwise the value
/// unknown to any graph.
Value as_parameter(const Value& value, bool trained);

/// What copies of a parameter have in common and no other parameter has.
struct ParamIdentity final : RefCounted {};

/// A tensor that training updates. It is what its tensor is, wherever a Tensor<D> is expected. Made on
/// `device.autodiff()` it requires a gradient, made on a plain device it cannot. A default-constructed one is absent: a
/// layer without bias.
///
/// A frozen one is saved, moved and counted as any other, requires no gradient, and no optimizer touches it:
/// `p = p.with_frozen(true)`, or freeze() for those of a whole model (kiln/nn/module/freeze.hpp). It stays frozen where it
/// is moved, mapped or loaded. Integers and booleans (`Param<2, Int>`: codes of a quantised weight, a table of neighbours)
/// are never trained.
///
/// A copy is the same parameter. In another model it is so until one of the two is updated; in the same model for good:
/// `model.output.weight = model.embedding.weight` ties them, and they are counted, trained, saved and moved as one (see
/// walk()). A parameter of its own, with the numbers of another tensor, is `Param(tensor)`; so is the one that takes
/// another's place, `p = Param(p * 0.5)`.
template <int D, class K = Float>
class Param : public Tensor<D, K> {
 public:
  Param() = default;
  /// Throws ShapeError or DTypeError where the value is not a tensor of rank D and kind K.
  explicit Param(const Value& value) : Param(as_parameter(value, true), true) {}
  explicit Param(const Tensor<D, K>& tensor) : Param(tensor.value()) {}

  /// One that was computed from others, for as long as they are used: a weight and what an adapter adds to it. It keeps
  /// its graph, so gradients go through it to what it was made of; it has none of its own.
  static Param computed(const Value& value) { return Param(value, true); }

  /// Null of an absent one.
  const Ref<ParamIdentity>& identity() const { return identity_; }

  /// Never updated: it was frozen, or has no gradients because it holds no floats.
  bool is_frozen() const { return !trained_ || K::kKind != Kind::Float; }
  /// The same numbers, trained or not.
  Param with_frozen(bool frozen) const {
    if (!this->empty()) return Param(as_parameter(this->value(), !frozen), !frozen);
    Param absent;
    absent.trained_ = !frozen;
    return absent;
  }
  /// Other numbers in this parameter's place: frozen if it is.
  Param with_value(const Value& value) const { return Param(as_parameter(value, trained_), trained_); }
  Param with_value(const Tensor<D, K>& tensor) const { return with_value(tensor.value()); }

  /// A tensor is no parameter: what it left here would not be trained.
  template <int E, class L>
  Param& operator=(const Tensor<E, L>&) {
    static_assert(E < 0, "a tensor does not become a parameter by itself: write p = nn::Param(tensor)");
    return *this;
  }

 private:
  Param(const Value& value, bool trained)
      : Tensor<D, K>(value), identity_(make_ref<ParamIdentity>()), trained_(trained) {}

  Ref<ParamIdentity> identity_;
  bool trained_ = true;
};
template <int D, class K>
Param(const Tensor<D, K>&) -> Param<D, K>;

#define KILN_NO_UPDATE(symbol)                                                                                      \
  template <int D, class K, Operand Y>                                                                              \
  Param<D, K>& operator symbol(Param<D, K>& p, const Y&) {                                                          \
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
template <int D, class K = Float>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(const Value& value) : tensor_(value.detach()) {}
  explicit Buffer(const Tensor<D, K>& tensor) : Buffer(tensor.value()) {}

  /// The value set last, unless that could not be computed (its batch held a wrong index, or found no memory).
  const Tensor<D, K>& get() const {
    for (std::size_t i = before_.size() + 1; i-- > 0;) {
      const Tensor<D, K>& tensor = i < before_.size() ? before_[i] : tensor_;
      if (state_of(tensor.value()) != Backend::State::Failed) return tensor;
    }
    return tensor_;
  }
  const Value& value() const { return get().value(); }
  bool empty() const { return tensor_.empty(); }
  const Shape& shape() const { return tensor_.shape(); }
  void set(const Value& value) const {
    const Tensor<D, K> last = get();
    if (state_of(last.value()) == Backend::State::Arrived) before_.clear();
    before_.push_back(last);
    tensor_ = Tensor<D, K>(value.detach());
  }
  void set(const Tensor<D, K>& tensor) const { set(tensor.value()); }

 private:
  mutable Tensor<D, K> tensor_;
  mutable std::vector<Tensor<D, K>> before_;  // what it was before it was what may still fail, the oldest first
};

}  // namespace nn

template <int D, class K>
struct OperandTraits<nn::Param<D, K>> : OperandTraits<Tensor<D, K>> {};

}  // namespace kiln
