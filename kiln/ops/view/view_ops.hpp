// Ops that show the same elements under another shape, and the reverse of a slice and of windows.
#pragma once
#include "kiln/ops/traits.hpp"

namespace kiln::op {

/// Shows the same elements, in row-major order, in another shape; a backend copies where strides cannot express it.
struct Reshape {
  static constexpr std::string_view kName = "reshape";
  static constexpr OpTraits kTraits{Pattern::View, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  Shape shape;
  Descs infer(Inputs in) const;
  void vjp(Backward& backward) const;
};

/// Dimension i of the result is dimension dims[i] of the operand.
struct Permute {
  static constexpr std::string_view kName = "permute";
  static constexpr OpTraits kTraits{Pattern::View, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  Dims dims;
  Descs infer(Inputs in) const;
  void vjp(Backward& backward) const;
};

/// Repeats dimensions of size 1, and adds leading ones, without copying.
struct Expand {
  static constexpr std::string_view kName = "expand";
  static constexpr OpTraits kTraits{Pattern::View, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  Shape shape;
  Descs infer(Inputs in) const;
  void vjp(Backward& backward) const;
};

/// Element j of dimension i is element begin[i] + j * step[i] of the operand; steps may be negative.
struct Slice {
  static constexpr std::string_view kName = "slice";
  static constexpr OpTraits kTraits{Pattern::View, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  Dims begin, step;
  Shape size;
  Descs infer(Inputs in) const;
  void vjp(Backward& backward) const;
};

/// The first operand with the elements selected by Slice{begin, step, size of the second} replaced by the second
/// operand.
struct SliceAssign {
  static constexpr std::string_view kName = "slice_assign";
  static constexpr OpTraits kTraits{Pattern::Opaque, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  enum Slot { x, value };
  Dims begin, step;
  Descs infer(Inputs in) const;
  void vjp(Backward& backward) const;
};

/// Windows that slide along `dim`: a new last dimension of `size` elements, `dilation` apart; window w begins at
/// element w * step of `dim`, whose size becomes the number of windows that fit. Windows may overlap in memory.
struct Unfold {
  static constexpr std::string_view kName = "unfold";
  static constexpr OpTraits kTraits{Pattern::View, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  int dim;
  std::int64_t size, step, dilation;
  Descs infer(Inputs in) const;
  void vjp(Backward& backward) const;
};

/// The adjoint of Unfold: each element of a `dim` of `length` is the sum of the window elements that show it, added in
/// the order of their position in the window.
struct Fold {
  static constexpr std::string_view kName = "fold";
  static constexpr OpTraits kTraits{Pattern::Opaque, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  int dim;
  std::int64_t length, step, dilation;
  Descs infer(Inputs in) const;
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op
