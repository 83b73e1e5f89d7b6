// Reading and writing by index. Indices are integer tensors; an index out of range is an IndexError of the backend.
// Negative indices are out of range, except in RavelIndex, which counts them from the end: functions that accept them
// use it.
#pragma once
#include "kiln/ops/index/update.hpp"
#include "kiln/ops/traits.hpp"

namespace kiln::op {

/// result[i][j][k] = x[i][index[i][j][k]][k] for dim = 1
struct Gather {
  static constexpr std::string_view kName = "gather";
  static constexpr OpTraits kTraits{Pattern::Lookup, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::OnData};
  enum Slot { x, index };
  int dim;
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.in = 1u << index}; }
  void vjp(Backward& backward) const;
};

/// x with the elements that Gather with the same index would read updated by source, in row-major order of source.
/// Gradients: where several elements are assigned, the last one has the gradient; equal extremes (x may be one) share
/// it.
struct Scatter {
  static constexpr std::string_view kName = "scatter";
  static constexpr OpTraits kTraits{Pattern::Opaque, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::OnData};
  enum Slot { x, index, source };
  int dim;
  Update update;
  /// The name of the function in errors: "scatter_add" or "scatter".
  std::string_view function_name() const { return update == Update::Add ? "scatter_add" : kName; }
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t tracked) const;
  void vjp(Backward& backward) const;
};

/// Reads whole slices of dimension `dim`, which is replaced by the dimensions of the index (of any rank).
struct Select {
  static constexpr std::string_view kName = "select";
  static constexpr OpTraits kTraits{Pattern::Lookup, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::OnData};
  enum Slot { x, index };
  int dim;
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.in = 1u << index}; }
  void vjp(Backward& backward) const;
};

/// Sums of rows: x [count, size], index [bags, entries] -> [bags, size], each the sum of the rows whose indices a bag
/// holds.
struct SelectSum {
  static constexpr std::string_view kName = "select_sum";
  static constexpr OpTraits kTraits{Pattern::Composite, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::OnData};
  enum Slot { x, index };
  Descs infer(Inputs in) const;
  Values expand(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.in = 1u << index}; }
  void vjp(Backward& backward) const;
};

/// x with the slices that Select with the same index would read updated by those of source, in row-major order.
/// Gradients are as for Scatter.
struct SelectUpdate {
  static constexpr std::string_view kName = "select_update";
  static constexpr OpTraits kTraits{Pattern::Opaque, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::OnData};
  enum Slot { x, index, source };
  int dim;
  Update update;
  /// The name of the function in errors: "select_add" or "select_assign".
  std::string_view function_name() const { return update == Update::Add ? "select_add" : "select_assign"; }
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t tracked) const;
  void vjp(Backward& backward) const;
};

/// One index for each dimension of `shape` (they broadcast) -> the int64 index into the flattened shape. A negative
/// index counts from the end.
struct RavelIndex {
  static constexpr std::string_view kName = "ravel_index";
  static constexpr OpTraits kTraits{Pattern::Elementwise, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::OnData};
  Shape shape;
  Descs infer(Inputs in) const;
  void vjp(Backward&) const {}
};

/// The indices into the flattened operand, a boolean tensor, at which it is true, in ascending order: int64 [count].
/// The caller that emits it has counted; a backend throws where the number is another.
struct Nonzero {
  static constexpr std::string_view kName = "nonzero";
  static constexpr OpTraits kTraits{Pattern::Opaque, AutocastTo::Same, Bound::Other, Rows::None, MayFail::OnData};
  std::int64_t count;
  Descs infer(Inputs in) const;
  void vjp(Backward&) const {}
};

/// The elements of x where a boolean tensor of its shape is true, in row-major order: [count]. The caller that emits it
/// has counted, as for Nonzero.
struct MaskSelect {
  static constexpr std::string_view kName = "mask_select";
  static constexpr OpTraits kTraits{Pattern::Composite, AutocastTo::Same, Bound::Other, Rows::None, MayFail::OnData};
  enum Slot { x, mask };
  std::int64_t count;
  Descs infer(Inputs in) const;
  Values expand(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.in = 1u << mask}; }
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op
