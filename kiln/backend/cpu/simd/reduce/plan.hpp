// The plan of a reduction: which of six forms it has, and into which groups and pieces its work is divided.
#pragma once
#include <algorithm>
#include <cstdint>

#include "kiln/backend/cpu/pieces.hpp"
#include "kiln/backend/cpu/rows.hpp"
#include "kiln/core/grain.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::simd {

/// How the elements of x that are folded into one result lie in memory. Elements of one letter are folded into one
/// result; a dot is a gap, or elements of other results.
///
///   All             a a a a a a               one result, whose elements are contiguous
///   Rows            a a a, b b b              each result folds one contiguous row
///   RowGroups       a a, b b, a a, b b        each result folds several contiguous rows (a plane of each image)
///   Columns         a b c, a b c              neighbouring results are contiguous, their elements evenly apart
///   ColumnGroups    a b, a b . a b, a b       neighbouring results are contiguous, each folds several dimensions
///   Scattered       a . b ., a . b .          neither the elements of a result nor the results are contiguous
enum class ReduceForm : std::uint8_t { All, Rows, RowGroups, Columns, ColumnGroups, Scattered };

struct ReducePlan {
  static constexpr std::int64_t kMostResults = 2048;  // the most results of a group: they stay in the first-level cache
  static constexpr std::int64_t kPiece = 65536;       // the elements of x that one partial result of a group covers

  ReduceForm form;
  Rows<2> kept;                // the kept dimensions, merged, in z and in x
  Rows<1> folded;              // the folded dimensions, merged, in x
  std::int64_t count;          // the elements of each result
  std::int64_t group;          // the most neighbouring results that are computed together
  std::int64_t groups;         // the groups of all results
  std::int64_t piece, pieces;  // the elements of each result in one piece; pieces give partial results, joined in order

  bool is_by_columns() const { return form == ReduceForm::Columns || form == ReduceForm::ColumnGroups; }
  bool is_by_rows() const { return !is_by_columns() && form != ReduceForm::Scattered; }
  std::int64_t groups_per_row() const { return divide_up(kept.length(), group); }
};

/// Plans the reduction of x, of any strides, over the dimensions `dims` to z, which has size 1 there. The pieces depend
/// on sizes and strides alone, so that results have the same bits for any number of threads.
inline ReducePlan plan_reduction(const Shape& shape, const Dims& x_strides, const Dims& z_strides, const Dims& dims) {
  Shape kept_shape = shape, folded_shape = Shape::filled(shape.size(), 1);
  for (const auto dim : dims) {
    folded_shape[static_cast<int>(dim)] = shape[static_cast<int>(dim)];
    kept_shape[static_cast<int>(dim)] = 1;
  }
  const Rows<2> kept(kept_shape, {z_strides, x_strides});
  const Rows<1> folded(folded_shape, {x_strides});
  const bool by_rows = folded.steps()[0] == 1, by_columns = !by_rows && kept.steps()[1] == 1;
  const bool once = folded.count() <= 1;  // each result folds the elements of one dimension
  using enum ReduceForm;
  ReducePlan plan{.form = by_columns                          ? (once ? Columns : ColumnGroups)
                          : !by_rows                          ? Scattered
                          : !once                             ? RowGroups
                          : kept.count() * kept.length() == 1 ? All
                                                              : Rows,
                  .kept = kept,
                  .folded = folded,
                  .count = folded.count() * folded.length(),
                  .group = by_columns ? std::clamp<std::int64_t>(kept.length(), 1, ReducePlan::kMostResults) : 1,
                  .groups = 0,
                  .piece = 0,
                  .pieces = 0};
  plan.piece = limited_grain(std::max<std::int64_t>(64, ReducePlan::kPiece / plan.group));
  plan.pieces = std::max<std::int64_t>(1, divide_up(plan.count, plan.piece));
  if (by_rows && plan.pieces == 1 && plan.count > 0) {
    // Short rows are computed several at a time. If each result folds several rows, wide groups read longer contiguous
    // ranges of memory.
    const std::int64_t most = std::clamp<std::int64_t>(kept.length(), 1, ReducePlan::kMostResults);
    plan.group = std::clamp<std::int64_t>(ReducePlan::kPiece / 2 / plan.count, 1, most);
    if (!once) plan.group = std::max(plan.group, std::min(most, divide_up(kept.length(), num_threads())));
  }
  plan.groups = kept.count() * plan.groups_per_row();
  return plan;
}

}  // namespace kiln::cpu::simd
