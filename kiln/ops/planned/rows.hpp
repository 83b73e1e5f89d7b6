// What goes through the same rows: the rule by which a planner makes op::RowFused, and by which one that arrives as bytes
// is checked.
#pragma once
#include <optional>
#include <span>

#include "kiln/ops/op.hpp"

namespace kiln::op {

/// Tensors as so many rows of so many elements: the first dimensions count rows, the last ones are a row.
struct RowForm {
  std::int64_t rows = 0, length = 0;
  std::int64_t count() const { return rows * length; }
  friend bool operator==(const RowForm&, const RowForm&) = default;
};

/// Returns the form in which the dimensions from `kept` on are a row.
RowForm form_of(const Shape& shape, int kept);
/// The form of a fused op's rows: its largest tensor has all elements of all rows.
RowForm form_of(const RowFused& op, Inputs in);

/// The rows that an operation folds, along the last dimensions of what it reads or computes; none of other operations.
std::optional<RowForm> folded_rows(const Op& op, const Desc* operand, const Desc& result);

/// Whether the op is a program, or an op that programs consist of.
bool is_program(const Op& op);

/// An operand of an operation: its description (null for a number), and whether an earlier step of the sequence
/// computes it.
struct RowOperand {
  const Desc* desc;
  bool made;
};
/// Whether an operation processes rows of this form one by one: its results have an element for each of the rows'
/// elements, or one for each row.
bool goes_through_rows(const Op& op, std::span<const RowOperand> in, const Desc& result, const RowForm& form);

}  // namespace kiln::op
