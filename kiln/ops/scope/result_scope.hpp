// Sees the results of a thread's operations: for tools that look into a model.
#pragma once
#include <span>

#include "kiln/core/function_ref.hpp"
#include "kiln/ops/value.hpp"

namespace kiln {

/// While this object lives, see(operands, results) is called after each operation of this thread. Scopes nest, and each
/// of them sees all. `see` must not emit operations; the function it refers to must outlive the scope.
class ResultScope {
 public:
  using See = FunctionRef<void(Inputs operands, std::span<const Value> results)>;
  explicit ResultScope(See see) : see_(see), outer_(innermost_) { innermost_ = this; }
  ~ResultScope() { innermost_ = outer_; }
  ResultScope(const ResultScope&) = delete;
  ResultScope& operator=(const ResultScope&) = delete;

  /// Called by emit(). Without a scope it reads one pointer.
  static void note(Inputs operands, std::span<const Value> results) {
    for (const ResultScope* scope = innermost_; scope; scope = scope->outer_) scope->see_(operands, results);
  }

 private:
  static inline constinit thread_local const ResultScope* innermost_ = nullptr;
  See see_;
  const ResultScope* outer_;
};

}  // namespace kiln
