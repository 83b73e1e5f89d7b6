// The rule that says which operations process the same rows: by it a planner creates op::RowFused, and one that arrives
// as bytes is checked.
#pragma once
#include <optional>
#include <span>

#include "kiln/ops/op.hpp"

namespace kiln::op {

/// Tensors as `rows` rows of `length` elements: the first dimensions count the rows, the last ones form a row.
struct RowForm {
  std::int64_t rows = 0, length = 0;
  std::int64_t count() const { return rows * length; }
  friend bool operator==(const RowForm&, const RowForm&) = default;
};

/// Returns the form in which the dimensions from `kept` on are a row.
RowForm form_of(const Shape& shape, int kept);
/// Returns the form of a fused op's rows: its largest tensor has all elements of all rows.
RowForm form_of(const RowFused& op, Inputs in);

/// Returns the rows that an operation folds, along the last dimensions of its operand or result; nothing for others.
std::optional<RowForm> folded_rows(const Op& op, const Desc* operand, const Desc& result);

/// Whether the op is a program, or an op that programs consist of.
bool is_program(const Op& op);

/// An operand of an operation: its description (null for a number), and whether an earlier step of the sequence
/// computes it.
struct RowOperand {
  const Desc* desc;
  bool is_computed;
};
/// Whether an operation processes rows of this form one by one: its results have an element for each of the rows'
/// elements, or one for each row.
bool processes_rows(const Op& op, std::span<const RowOperand> in, const Desc& result, const RowForm& form);

}  // namespace kiln::op
