// How operations run for a whole batch of examples at once.
#pragma once
#include <optional>
#include <vector>

#include "kiln/ops/op.hpp"

namespace kiln {

/// The operands of an operation; those that are batched have the examples as dimension 0, and at least one is.
struct BatchedCall {
  Values in;
  std::vector<bool> batched;
  std::int64_t examples = 0;

  bool is_tensor(std::size_t i) const { return in[i] && !in[i].is_scalar(); }
  /// The rank of operand i of one example; 0 for numbers.
  int rank(std::size_t i) const { return is_tensor(i) ? in[i].rank() - (batched[i] ? 1 : 0) : 0; }
};

/// Runs `op` for all examples. The results have them as dimension 0; nothing where there is no rule for this op or for
/// these operands.
std::optional<Values> run_batched(const op::Op& op, BatchedCall call);

}  // namespace kiln
