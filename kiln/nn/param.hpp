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

/// The state of a value on its device.
Backend::State state_of(const Value& value);

/// The value as a leaf of a graph if its device is an autodiff device and it can be trained, otherwise detached from
/// any graph.
Value as_parameter(const Value& value, bool trained);

/// The identity that copies of a parameter share and no other parameter has.
struct ParamIdentity final : RefCounted {};

/// A tensor that training updates. It can be used wherever a Tensor<D> is expected. On `device.autodiff()` it requires
/// a gradient; on a plain device it cannot have one. A default-constructed one is absent: a layer without bias.
///
/// A frozen one is saved, moved and counted like any other, requires no gradient, and is not changed by optimizers:
/// `p = p.with_frozen(true)`, or freeze() for those of a whole model (kiln/nn/module/freeze.hpp). It stays frozen when
/// it is moved, mapped or loaded. Integers and booleans (`Param<2, Int>`: codes of a quantised weight, a table of
/// neighbours) are never trained.
///
/// A copy is the same parameter. In another model it is so until one of the two is updated; in the same model it stays
/// so: `model.output.weight = model.embedding.weight` ties them, and they are counted, trained, saved and moved as one
/// (see walk()). `Param(tensor)` is a new parameter with the numbers of another tensor; so is one that replaces
/// another, `p = Param(p * 0.5)`.
template <int D, class K = Float>
class [[nodiscard("no parameter is changed: a new one is returned")]] Param : public Tensor<D, K> {
 public:
  Param() = default;
  /// Throws ShapeError or DTypeError if the value is not a tensor of rank D and kind K.
  explicit Param(const Value& value) : Param(as_parameter(value, true), true) {}
  explicit Param(const Tensor<D, K>& tensor) : Param(tensor.value()) {}

  /// A parameter that is computed from others, for as long as it is used: a weight plus an adapter's change. It keeps
  /// its graph, so gradients flow through it; it has no gradient of its own.
  static Param computed(const Value& value) { return Param(value, true); }

  /// Null if absent.
  const Ref<ParamIdentity>& identity() const { return identity_; }

  /// Is it never updated? It is frozen, or is not of floats and so has no gradient.
  bool is_frozen() const { return !trained_ || K::kKind != Kind::Float; }
  /// Returns the parameter with the same numbers, frozen or not.
  Param with_frozen(bool frozen) const {
    if (!this->empty()) return Param(as_parameter(this->value(), !frozen), !frozen);
    Param absent;
    absent.trained_ = !frozen;
    return absent;
  }
  /// This parameter with other numbers; it stays frozen if it is.
  Param with_value(const Value& value) const { return Param(as_parameter(value, trained_), trained_); }
  Param with_value(const Tensor<D, K>& tensor) const { return with_value(tensor.value()); }

  /// A tensor is no parameter: assigned here it would not be trained.
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

/// A tensor that a forward pass updates: a running mean. It is not trained, but saved and moved with its module. A copy
/// has a value of its own. `set` is const because forward is: while it may be called (in Mode::Train) a module belongs
/// to one thread; in Mode::Valid it is only read, by any number of threads.
template <int D, class K = Float>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(const Value& value) : tensor_(value.detach()) {}
  explicit Buffer(const Tensor<D, K>& tensor) : Buffer(tensor.value()) {}

  /// The value set last, unless its computation failed (its batch had a wrong index, or memory ran out).
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
    before_.push_back(last);
    // What is older than a value that has arrived will not be asked for any more.
    std::size_t first = before_.size() - 1;
    while (first > 0 && state_of(before_[first].value()) != Backend::State::Arrived) --first;
    before_.erase(before_.begin(), before_.begin() + static_cast<std::ptrdiff_t>(first));
    tensor_ = Tensor<D, K>(value.detach());
  }
  void set(const Tensor<D, K>& tensor) const { set(tensor.value()); }

 private:
  mutable Tensor<D, K> tensor_;
  mutable std::vector<Tensor<D, K>> before_;  // earlier values, while later ones may still fail, oldest first
};

}  // namespace nn

template <int D, class K>
struct OperandTraits<nn::Param<D, K>> : OperandTraits<Tensor<D, K>> {};

}  // namespace kiln
