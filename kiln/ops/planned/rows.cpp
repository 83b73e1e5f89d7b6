#include "kiln/ops/planned/rows.hpp"

#include <algorithm>

#include "kiln/ops/planned/sequence.hpp"

namespace kiln::op {
namespace {

/// Returns the dimension at which a row begins in `all`, the shape of all elements; nothing where rows of `form` do not
/// fit it.
std::optional<int> split(const Shape& all, const RowForm& form) {
  int kept = all.size();
  for (std::int64_t length = 1; kept > 0 && length < form.length;) length *= all[--kept];
  return form_of(all, kept) == form ? std::optional(kept) : std::nullopt;
}

/// Whether an operand broadcasts along a row of a shape.
bool is_ones(const Shape& operand, const Shape& all, int kept) {
  const int own = std::min(all.size() - kept, operand.size());
  return std::all_of(operand.end() - own, operand.end(), [](std::int64_t size) { return size == 1; });
}
/// Whether an operand broadcasts along a row, or has all elements of it.
bool spreads(const Shape& operand, const Shape& all, int kept) {
  const int own = all.size() - kept;
  return is_ones(operand, all, kept) ||
         (operand.size() >= own && std::equal(operand.end() - own, operand.end(), all.end() - own));
}

bool program_goes_through(const Op& op, std::span<const RowOperand> in, const Desc& result, const RowForm& form) {
  const auto* fused = std::get_if<Fused>(&op.is);
  const Shape& computed = fused ? fused->program->shape : result.shape;
  const bool has_folds = fused && !fused->program->folds.empty();
  if (has_folds && !std::ranges::all_of(fused->program->folds, [&](const Program::Fold& fold) {
        const std::optional<int> kept = fold.kept(computed);
        return kept && form_of(computed, *kept) == form;
      }))
    return false;
  const bool of_rows = !has_folds && numel(computed) == form.rows;
  const std::optional<int> kept = of_rows ? computed.size() : split(computed, form);
  return kept && std::ranges::all_of(in, [&](const RowOperand& operand) {
           if (!operand.desc) return true;
           const Shape& own = operand.desc->shape;
           // A result of the sequence has one number for each row, or one for each element, whatever its shape.
           return operand.is_computed
                      ? numel(own) == numel(computed) || (numel(own) == form.rows && is_ones(own, computed, *kept))
                      : spreads(own, computed, *kept);
         });
}

}  // namespace

RowForm form_of(const Shape& shape, int kept) {
  const std::int64_t length = numel(Shape(shape.begin() + kept, shape.end()));
  return {length ? numel(shape) / length : 0, length};
}

RowForm form_of(const RowFused& op, Inputs in) {
  std::int64_t count = 0;
  for (const Desc& result : op.sequence->results) count = std::max(count, numel(result.shape));
  for (const Value& value : in)
    if (value.node()) count = std::max(count, value.numel());
  return {op.rows, op.rows ? count / op.rows : 0};
}

std::optional<RowForm> folded_rows(const Op& op, const Desc* operand, const Desc& result) {
  if (const auto* reduce = std::get_if<Reduce>(&op.is)) {
    if (!operand) return std::nullopt;
    const int kept = operand->shape.size() - reduce->dims.size();
    if (!is_float(operand->dtype) || reduce->dims.empty() || reduce->dims[0] != kept) return std::nullopt;
    return form_of(operand->shape, kept);
  }
  if (const auto* softmax = std::get_if<Softmax>(&op.is)) {
    const RowForm form = form_of(result.shape, softmax->dim);
    return form.length == result.shape[softmax->dim] ? std::optional(form) : std::nullopt;
  }
  if (const auto* fused = std::get_if<Fused>(&op.is); fused && !fused->program->folds.empty()) {
    const std::optional<int> kept = fused->program->folds[0].kept(fused->program->shape);
    return kept ? std::optional(form_of(fused->program->shape, *kept)) : std::nullopt;
  }
  return std::nullopt;
}

bool is_program(const Op& op) {
  return visit(op, []<class T>(const T&) { return is_elementwise<T> || std::is_same_v<T, Fused>; });
}

bool processes_rows(const Op& op, std::span<const RowOperand> in, const Desc& result, const RowForm& form) {
  if (is_program(op)) return program_goes_through(op, in, result, form);
  if (in.empty()) return false;
  const RowOperand& first = in[0];
  if (const std::optional<RowForm> folded = folded_rows(op, first.desc, result)) return *folded == form;
  const bool is_full = numel(result.shape) == form.count();
  if (std::holds_alternative<Dropout>(op.is)) return is_full && split(result.shape, form);
  if (!first.desc || !first.is_computed) return false;
  const std::int64_t count = numel(first.desc->shape);
  if (std::holds_alternative<Reshape>(op.is)) return count == form.rows || (is_full && split(result.shape, form));
  if (std::holds_alternative<Expand>(op.is)) {
    const std::optional<int> kept = count == form.rows ? split(result.shape, form) : std::nullopt;
    return kept && is_ones(first.desc->shape, result.shape, *kept);
  }
  return false;
}

}  // namespace kiln::op
