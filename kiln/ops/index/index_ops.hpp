// Reading and writing by index. Indices are integer tensors; one out of range is an IndexError of the backend. Negative
// ones are out of range, except for RavelIndex, which counts them from the end: functions that promise to take them go
// through it.
#pragma once
#include "kiln/ops/index/update.hpp"
#include "kiln/ops/traits.hpp"

namespace kiln::op {

/// result[i][j][k] = x[i][index[i][j][k]][k] for dim = 1
struct Gather {
  static constexpr std::string_view kName = "gather";
  static constexpr Facts kFacts{Pattern::Lookup, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::OnData};
  enum Slot { x, index };
  int dim;
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.in = 1u << index}; }
  void vjp(Backward& backward) const;
};

/// x with the places that Gather with the same index would read updated by source, in row-major order of the latter.
/// Of gradients: where several assign, the one that won has it; equal extremes (x may be one) share it.
struct Scatter {
  static constexpr std::string_view kName = "scatter";
  static constexpr Facts kFacts{Pattern::Opaque, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::OnData};
  enum Slot { x, index, source };
  int dim;
  Update update;
  /// How errors call it: "scatter_add" or "scatter".
  std::string_view spoken() const { return update == Update::Add ? "scatter_add" : kName; }
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t tracked) const;
  void vjp(Backward& backward) const;
};

/// Whole slices of dimension `dim`, which becomes the dimensions of the index (of any rank).
struct Select {
  static constexpr std::string_view kName = "select";
  static constexpr Facts kFacts{Pattern::Lookup, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::OnData};
  enum Slot { x, index };
  int dim;
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.in = 1u << index}; }
  void vjp(Backward& backward) const;
};

/// The sums of rows: x [count, size], index [bags, entries] -> [bags, size], each the sum of the rows that a bag names.
struct SelectSum {
  static constexpr std::string_view kName = "select_sum";
  static constexpr Facts kFacts{Pattern::Composite, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::OnData};
  enum Slot { x, index };
  Descs infer(Inputs in) const;
  Values expand(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.in = 1u << index}; }
  void vjp(Backward& backward) const;
};

/// x with the slices that Select with the same index would read updated by those of source, in row-major order.
/// Gradients as Scatter's.
struct SelectUpdate {
  static constexpr std::string_view kName = "select_update";
  static constexpr Facts kFacts{Pattern::Opaque, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::OnData};
  enum Slot { x, index, source };
  int dim;
  Update update;
  /// How errors call it: "select_add" or "select_assign".
  std::string_view spoken() const { return update == Update::Add ? "select_add" : "select_assign"; }
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t tracked) const;
  void vjp(Backward& backward) const;
};

/// One index for each dimension of `shape` (they broadcast) -> the int64 index into the flattened shape. An index below
/// zero counts from the end.
struct RavelIndex {
  static constexpr std::string_view kName = "ravel_index";
  static constexpr Facts kFacts{Pattern::Elementwise, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::OnData};
  Shape shape;
  Descs infer(Inputs in) const;
  void vjp(Backward&) const {}
};

/// The indices into the flattened operand, a boolean tensor, at which it is true, in ascending order: int64 [count].
/// Whoever emits it has counted; a backend refuses another number.
struct Nonzero {
  static constexpr std::string_view kName = "nonzero";
  static constexpr Facts kFacts{Pattern::Opaque, AutocastTo::Same, Bound::Other, Rows::None, MayFail::OnData};
  std::int64_t count;
  Descs infer(Inputs in) const;
  void vjp(Backward&) const {}
};

/// The elements of x that stand where a boolean tensor of its shape is true, in row-major order: [count]. Whoever emits it
/// has counted, as for Nonzero.
struct MaskSelect {
  static constexpr std::string_view kName = "mask_select";
  static constexpr Facts kFacts{Pattern::Composite, AutocastTo::Same, Bound::Other, Rows::None, MayFail::OnData};
  enum Slot { x, mask };
  std::int64_t count;
  Descs infer(Inputs in) const;
  Values expand(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.in = 1u << mask}; }
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op
