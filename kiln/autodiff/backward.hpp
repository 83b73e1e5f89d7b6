// Reverse-mode differentiation: walks the tape from a loss to its leaves. Gradients are a value of their own; nothing
// is stored in tensors, so that any number of threads may differentiate graphs that share their parameters.
#pragma once
#include <optional>
#include <vector>

#include "kiln/core/function_ref.hpp"
#include "kiln/ops/functions.hpp"

namespace kiln {

/// The gradients of the leaves that a loss depends on.
class [[nodiscard("gradients are returned, and stored nowhere else")]] Gradients {
 public:
  /// The gradient of a leaf (a value that require_grad() made). Throws AutodiffError where it took no part.
  Value of(const Value& leaf) const;
  std::optional<Value> find(const Value& leaf) const;
  /// The same for a typed tensor: of(Tensor<2>) is a Tensor<2>.
  template <class T>
  requires requires(const T& leaf) { T(leaf.value()); } T of(const T& leaf) const {
    return T(of(leaf.value()));
  }
  template <class T>
  requires requires(const T& leaf) { T(leaf.value()); } std::optional<T> find(const T& leaf) const {
    const std::optional<Value> grad = find(leaf.value());
    return grad ? std::optional<T>(T(*grad)) : std::nullopt;
  }
  /// of(leaf), which is taken out: what is read afterwards lets its memory go. Throws AutodiffError where it took no part.
  Value pop(const Value& leaf);
  template <class T>
  requires requires(const T& leaf) { T(leaf.value()); } T pop(const T& leaf) {
    return T(pop(leaf.value()));
  }
  /// Puts another gradient in its place (clipping, averaging over replicas).
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
  bool create_graph = false;  // record the gradients' own computation, so that they can be differentiated again
};

/// The gradients of sum(loss). Throws AutodiffError where nothing tracked led to it.
Gradients backward(const Value& loss, const BackwardOptions& options = {});

/// What backward() calls with each leaf as soon as nothing is left that could add to its gradient. It may take the gradient
/// or put another in its place: the result has what it leaves there, and not the leaf where that is nothing.
using OnFinal = FunctionRef<void(Gradients::Entry& entry)>;
/// The same, and calls `on_final` while earlier gradients are still to come, of leaves that are used late first; in the
/// scopes in which gradients are computed. What checkpoint() left out of the tape may use any leaf, so that none is final
/// while it is still to run again. Nor is one told of while the walk is still to come to where ranks meet: they come to all
/// their calls in the same order, though a leaf may take part on some of them alone.
Gradients backward(const Value& loss, OnFinal on_final, const BackwardOptions& options = {});

/// The gradients of sum(outputs[i] * seeds[i]) with respect to each of `wrt`, which need not be leaves; zeros where the
/// outputs do not depend on one. An empty seed counts as ones.
Values grad(Inputs outputs, Inputs seeds, Inputs wrt, const BackwardOptions& options = {});
inline Values grad(const Value& loss, Inputs wrt, const BackwardOptions& options = {}) {
  const Value seed;
  return grad({&loss, 1}, {&seed, 1}, wrt, options);
}

}  // namespace kiln
