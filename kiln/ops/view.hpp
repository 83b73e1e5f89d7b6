// Ops that show the same elements under another shape, and the assignment that undoes a slice.
#pragma once
#include "kiln/ops/traits.hpp"

namespace kiln::op {

/// The same elements in row-major order; a backend copies where strides cannot express it.
struct Reshape {
  static constexpr std::string_view kName = "reshape";
  static constexpr Pattern kPattern = Pattern::View;
  Shape shape;
  Descs infer(Inputs in) const;
  void vjp(Backward& backward) const;
};

/// Dimension i of the result is dimension dims[i] of the operand.
struct Permute {
  static constexpr std::string_view kName = "permute";
  static constexpr Pattern kPattern = Pattern::View;
  Dims dims;
  Descs infer(Inputs in) const;
  void vjp(Backward& backward) const;
};

/// Repeats dimensions of size 1, and adds leading ones, without copying.
struct Expand {
  static constexpr std::string_view kName = "expand";
  static constexpr Pattern kPattern = Pattern::View;
  Shape shape;
  Descs infer(Inputs in) const;
  void vjp(Backward& backward) const;
};

/// Element j of dimension i is element begin[i] + j * step[i] of the operand; steps may be negative.
struct Slice {
  static constexpr std::string_view kName = "slice";
  static constexpr Pattern kPattern = Pattern::View;
  Dims begin, step;
  Shape size;
  Descs infer(Inputs in) const;
  void vjp(Backward& backward) const;
};

/// The first operand with the elements that Slice{begin, step, size of the second} names replaced by the second.
struct SliceAssign {
  static constexpr std::string_view kName = "slice_assign";
  static constexpr Pattern kPattern = Pattern::Opaque;
  enum Slot { x, value };
  Dims begin, step;
  Descs infer(Inputs in) const;
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op
