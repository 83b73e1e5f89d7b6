// Reverse-mode differentiation: traverses the tape from a loss to its leaves. Gradients are a value of their own;
// nothing is stored in tensors, so that any number of threads may differentiate graphs that share parameters.
#pragma once
#include <optional>
#include <vector>

#include "kiln/core/function_ref.hpp"
#include "kiln/ops/functions.hpp"

namespace kiln {

/// The gradients of the leaves that a loss depends on.
class [[nodiscard("gradients are returned, and stored nowhere else")]] Gradients {
 public:
  /// The gradient of a leaf (a value created by require_grad()). Throws AutodiffError where the loss does not depend on
  /// it.
  Value of(const Value& leaf) const;
  std::optional<Value> find(const Value& leaf) const;
  /// The gradient of a typed tensor: of(Tensor<2>) is a Tensor<2>.
  template <class T>
  requires requires(const T& leaf) { T(leaf.value()); } T of(const T& leaf) const {
    return T(of(leaf.value()));
  }
  template <class T>
  requires requires(const T& leaf) { T(leaf.value()); } std::optional<T> find(const T& leaf) const {
    const std::optional<Value> grad = find(leaf.value());
    return grad ? std::optional<T>(T(*grad)) : std::nullopt;
  }
  /// Removes and returns of(leaf), so that its memory is freed when the caller drops it. Throws AutodiffError as of()
  /// does.
  Value pop(const Value& leaf);
  template <class T>
  requires requires(const T& leaf) { T(leaf.value()); } T pop(const T& leaf) {
    return T(pop(leaf.value()));
  }
  /// Replaces the gradient (clipping, averaging over replicas).
  void set(const Value& leaf, Value grad);
  template <class T>
  requires requires(const T& leaf) { T(leaf.value()); } void set(const T& leaf, const T& grad) {
    set(leaf.value(), grad.value());
  }

  std::size_t size() const { return entries_.size(); }
  struct Entry {
    Ref<Record> leaf;
    Value grad;
  };
  std::vector<Entry>& entries() & { return entries_; }
  const std::vector<Entry>& entries() const& { return entries_; }
  std::vector<Entry> entries() && { return std::move(entries_); }

 private:
  std::vector<Entry> entries_;  // ascending by leaf
};

struct BackwardOptions {
  bool create_graph = false;  // record the computation of gradients, so that they can be differentiated again
};

/// The gradients of sum(loss). Throws AutodiffError where the loss depends on nothing tracked.
Gradients backward(const Value& loss, const BackwardOptions& options = {});

/// The function that backward() calls with each leaf as soon as its gradient is final. It may take or replace the
/// gradient: the result has what it leaves there, and omits the leaf where that is empty.
using OnFinal = FunctionRef<void(Gradients::Entry& entry)>;
/// Calls `on_final` for leaves while other gradients are still to be computed, starting with leaves that are used late;
/// the calls run in the scopes in which gradients are computed. A function under checkpoint() may use any leaf, so no
/// leaf is final before it has run again. Nor is `on_final` called before the traversal has passed all collectives:
/// ranks must call collectives in the same order, though a leaf may be used on some ranks only.
Gradients backward(const Value& loss, OnFinal on_final, const BackwardOptions& options = {});

/// The gradients of sum(outputs[i] * seeds[i]) with respect to each of `wrt`, which need not be leaves; zeros where the
/// outputs do not depend on one. An empty seed means ones.
Values grad(Inputs outputs, Inputs seeds, Inputs wrt, const BackwardOptions& options = {});
inline Values grad(const Value& loss, Inputs wrt, const BackwardOptions& options = {}) {
  const Value seed;
  return grad({&loss, 1}, {&seed, 1}, wrt, options);
}

}  // namespace kiln
