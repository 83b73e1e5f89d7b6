// What goes through the same rows: the rule by which a planner makes op::Blocked without blocks, and by which one that
// arrives as bytes is checked.
#pragma once
#include <optional>
#include <span>

#include "kiln/ops/op.hpp"

namespace kiln::op {

struct Sequence;

/// Tensors as so many rows of so many elements: the first dimensions count rows, the last ones are a row.
struct RowForm {
  std::int64_t rows = 0, length = 0;
  std::int64_t count() const { return rows * length; }
  friend bool operator==(const RowForm&, const RowForm&) = default;
};

/// The form in which the dimensions from `kept` on are a row.
RowForm form_of(const Shape& shape, int kept);
/// Of a sequence without blocks: its largest tensor has all elements of all rows.
RowForm form_of(const Sequence& sequence, Inputs in);

/// Of an operation that folds along the last dimensions of what it reads or computes; none of others.
std::optional<RowForm> folded_rows(const Op& op, const Desc* operand, const Desc& result);

/// Is it a program, or what steps of programs are made of?
bool is_program(const Op& op);

/// What an operation reads: null for a number, and whether one before it in the sequence has made it.
struct RowOperand {
  const Desc* desc;
  bool made;
};
/// Does an operation take rows of this form one by one? Its results have an element for each of the rows' elements, or
/// one for each row.
bool goes_through_rows(const Op& op, std::span<const RowOperand> in, const Desc& result, const RowForm& form);

}  // namespace kiln::op
