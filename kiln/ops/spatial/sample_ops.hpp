// Samples an image at any positions, as one op, so that a kernel need not store the elements that each position reads
// and their weights. The first two ops are linear in their first operand and adjoint to each other.
#pragma once
#include "kiln/ops/spatial/sample.hpp"
#include "kiln/ops/traits.hpp"

namespace kiln::op {

/// Checks that x is [batch, channels, sizes...] of rank 4 to `most`, and is not empty.
void require_image(std::string_view name, const Value& x, int most);

/// x [batch, channels, sizes...], grid [batch, places..., axes] of x's type -> [batch, channels, places...].
struct GridSample {
  static constexpr std::string_view kName = "grid_sample";
  static constexpr OpTraits kTraits{Pattern::Composite, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  enum Slot { x, grid };
  GridSampleOptions options;
  Descs infer(Inputs in) const;
  Values expand(Inputs in) const;
  Saves saves(std::uint32_t tracked) const;
  void vjp(Backward& backward) const;
};

/// The adjoint in x: y [batch, channels, places...], grid [batch, places..., axes] -> [batch, channels, sizes...]. It
/// adds in the order of the positions.
struct GridSampleTranspose {
  static constexpr std::string_view kName = "grid_sample_transpose";
  static constexpr OpTraits kTraits{Pattern::Composite, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  enum Slot { y, grid };
  GridSampleOptions options;
  Spatial sizes;
  Descs infer(Inputs in) const;
  Values expand(Inputs in) const;
  Saves saves(std::uint32_t tracked) const;
  void vjp(Backward& backward) const;
};

/// The gradient of grid, given that of the result of grid_sample.
struct GridSampleGridGrad {
  static constexpr std::string_view kName = "grid_sample_grid_grad";
  static constexpr OpTraits kTraits{Pattern::Composite, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  enum Slot { x, grid, grad };
  GridSampleOptions options;
  Descs infer(Inputs in) const;
  Values expand(Inputs in) const;
  void vjp(Backward& backward) const;  // none: GridSample records the expansion where a gradient is wanted
};

}  // namespace kiln::op
