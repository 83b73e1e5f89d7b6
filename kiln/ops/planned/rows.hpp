// Steps over the same rows: the rule by which a planner builds op::Blocked without blocks, and by which a Blocked that
// is read from bytes is checked.
#pragma once
#include <optional>
#include <span>

#include "kiln/ops/op.hpp"

namespace kiln::op {

struct Sequence;

/// A view of tensors as `rows` rows of `length` elements: the first dimensions count rows, the last ones are a row.
struct RowForm {
  std::int64_t rows = 0, length = 0;
  std::int64_t count() const { return rows * length; }
  friend bool operator==(const RowForm&, const RowForm&) = default;
};

/// Returns the form in which the dimensions from `kept` on are a row.
RowForm form_of(const Shape& shape, int kept);
/// Returns the form of a sequence without blocks: its largest tensor has all elements of all rows.
RowForm form_of(const Sequence& sequence, Inputs in);

/// Returns the rows of an operation that reduces along the last dimensions of its operand or result; nothing for other
/// operations.
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
