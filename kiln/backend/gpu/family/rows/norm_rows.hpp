// Norms of rows that fit into registers: all of a layer norm, or of a group norm, in one pass, and so its gradient.
#pragma once
#include "kiln/backend/gpu/family/rows/norm.hpp"
#include "kiln/backend/gpu/family/rows/row.hpp"

namespace kiln::gpu::family {

/// Rows of x [batch, groups * own, inner]: a group of a batch entry, of `own` channels, is one. A layer norm has one
/// group, and its elements are channels.
struct Groups {
  std::int64_t batch, groups, own, inner;
  bool centred;
  double epsilon;
  std::int64_t rows() const { return batch * groups; }
  std::int64_t length() const { return own * inner; }
  Shape shape() const { return {batch, groups, own, inner}; }
  Shape channels() const { return {1, groups, own, 1}; }
};

/// All arrays are contiguous; weight and bias may be numbers in place of [channels]. False, with nothing done: rows are
/// too long.
bool norm_rows(Gpu& gpu, const Groups& groups, const Array& x, const Operand& weight, const Operand& bias,
               const Array& y, bool in_place);
/// The same for the gradient of x; notes the moments.
bool norm_gradient_rows(Gpu& gpu, const Groups& groups, const Array& g, const Array& x, const Operand& weight,
                        const Array& dx, const Moments& moments);

/// All of the gradient of a layer norm in one pass over x and g, but for the sum of what teams of threads made for weight
/// and bias: [teams, 1, channels, 1] each. None, with nothing done, where rows are too long or too few.
struct NormGradientParts {
  Value weight, bias;
};
std::optional<NormGradientParts> norm_gradient_parts(Gpu& gpu, const Groups& groups, const Array& g, const Array& x,
                                                     const Operand& weight, const Array& dx);

}  // namespace kiln::gpu::family
