// Pooling over windows of the spatial dimensions of [batch, channels, sizes...], in 1, 2 and 3 dimensions.
#pragma once
#include "kiln/ops/traits.hpp"

namespace kiln::op {

struct Window {
  Spatial kernel{}, stride{}, padding{}, padding_after{}, dilation{};
  bool ceil = false;  // counts all windows that begin inside the padded tensor, even if the last one extends beyond it
};

/// The greatest element of each plain window, or, if adaptive, of each of as many nearly equal parts as `adaptive`
/// says. Results: the values, and (if `indexed`) the index (int64) of each in its flattened spatial input.
struct MaxPool {
  static constexpr std::string_view kName = "max_pool";
  static constexpr OpTraits kTraits{Pattern::Opaque, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  enum Result { values, indices };
  Window window{};
  Spatial adaptive{};  // sizes of the result; where set, the window is ignored
  bool indexed = true;

  /// The elements begin, begin + step, ... before `end` that result `index` of spatial dimension `axis` (of input size
  /// `size`) reads, all of them inside the input.
  struct WindowPart {
    std::int64_t begin, end, step;
  };
  WindowPart part(int axis, std::int64_t index, std::int64_t size) const;

  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.in = !indexed, .out = indexed}; }
  void vjp(Backward& backward) const;
};

/// The adjoint of MaxPool: each element is added to the flattened spatial result at the position of its index.
struct MaxPoolGrad {
  static constexpr std::string_view kName = "max_pool_grad";
  static constexpr OpTraits kTraits{Pattern::Opaque, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::OnData};
  enum Slot { y, indices };
  Spatial sizes;  // spatial sizes of the pool's input
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.in = 1u << indices}; }
  void vjp(Backward& backward) const;
};

/// The mean over plain windows, or, if adaptive, over as many nearly equal parts as `adaptive` says.
struct AvgPool {
  static constexpr std::string_view kName = "avg_pool";
  static constexpr OpTraits kTraits{Pattern::Opaque, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  Window window{};
  bool count_padding = true;  // divide by the window's size, padding included
  Spatial adaptive{};         // sizes of the result; where set, the window is ignored
  std::int64_t divisor = 0;   // the number that divides every sum; 0: the number of elements

  /// The elements [begin, end) that result `index` of spatial dimension `axis` (of input size `size`) averages, and the
  /// divisor of their sum.
  struct WindowPart {
    std::int64_t begin, end, divisor;
  };
  WindowPart part(int axis, std::int64_t index, std::int64_t size) const;

  Descs infer(Inputs in) const;
  void vjp(Backward& backward) const;
};

/// The adjoint of AvgPool: distributes each element over the window that it came from.
struct AvgPoolGrad {
  static constexpr std::string_view kName = "avg_pool_grad";
  static constexpr OpTraits kTraits{Pattern::Opaque, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  AvgPool pool;
  Spatial sizes;  // spatial sizes of the pool's input
  Descs infer(Inputs in) const;
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op
