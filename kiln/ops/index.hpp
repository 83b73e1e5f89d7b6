// Reading and adding by index. Indices are integer tensors; one out of range is an IndexError of the backend.
#pragma once
#include "kiln/ops/traits.hpp"

namespace kiln::op {

/// result[i][j][k] = x[i][index[i][j][k]][k] for dim = 1
struct Gather {
  static constexpr std::string_view kName = "gather";
  static constexpr Pattern kPattern = Pattern::Opaque;
  enum Slot { x, index };
  int dim;
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.in = 1u << index}; }
  void vjp(Backward& backward) const;
};

/// x with source added at the places that Gather with the same index would read; always in the same order.
struct ScatterAdd {
  static constexpr std::string_view kName = "scatter_add";
  static constexpr Pattern kPattern = Pattern::Opaque;
  enum Slot { x, index, source };
  int dim;
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.in = 1u << index}; }
  void vjp(Backward& backward) const;
};

/// Whole slices of dimension `dim`, which becomes the dimensions of the index (of any rank).
struct Select {
  static constexpr std::string_view kName = "select";
  static constexpr Pattern kPattern = Pattern::Opaque;
  enum Slot { x, index };
  int dim;
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.in = 1u << index}; }
  void vjp(Backward& backward) const;
};

/// x with slices of source added where Select with the same index would read; always in the same order.
struct SelectAdd {
  static constexpr std::string_view kName = "select_add";
  static constexpr Pattern kPattern = Pattern::Opaque;
  enum Slot { x, index, source };
  int dim;
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.in = 1u << index}; }
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op
