// Ops that order elements. The order is total: NaN is larger than any number, -0 equals 0.
#pragma once
#include "kiln/ops/traits.hpp"

namespace kiln::op {

/// The elements along `dim` in ascending or descending order, and the index (int64) of each in x; equal elements keep
/// their order.
struct Sort {
  static constexpr std::string_view kName = "sort";
  static constexpr OpTraits kTraits{Pattern::Opaque, AutocastTo::Same, Bound::Other, Rows::None, MayFail::Never};
  enum Slot { values, indices };
  int dim;
  bool descending;
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.out = true}; }
  void vjp(Backward& backward) const;
};

/// The first k elements along `dim` of the result of Sort, in descending order for the largest.
struct TopK {
  static constexpr std::string_view kName = "topk";
  static constexpr OpTraits kTraits{Pattern::Opaque, AutocastTo::Same, Bound::Other, Rows::None, MayFail::Never};
  enum Slot { values, indices };
  std::int64_t k;
  int dim;
  bool largest;
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.out = true}; }
  void vjp(Backward& backward) const;
};

/// The number (int64) of elements of `sorted`, ascending, that come before each of `values` [..., m]; with
/// `right`, elements that equal it count too. `sorted` is one line [n] for all values, or a line for each line of them:
/// [..., n].
struct SearchSorted {
  static constexpr std::string_view kName = "searchsorted";
  static constexpr OpTraits kTraits{Pattern::Opaque, AutocastTo::Same, Bound::Other, Rows::None, MayFail::Never};
  enum Slot { sorted, values };
  bool right;
  Descs infer(Inputs in) const;
  void vjp(Backward&) const {}
};

}  // namespace kiln::op
