// Norms of rows that fit into registers: a whole layer norm or group norm in one pass, and its gradient.
#pragma once
#include "kiln/backend/gpu/family/rows/norm.hpp"
#include "kiln/backend/gpu/family/rows/row.hpp"

namespace kiln::gpu::family {

/// The rows of x [batch, groups * own, inner]: one for each group of a batch entry, with `own` channels. A layer norm
/// has one group, and its elements are channels.
struct Groups {
  std::int64_t batch, groups, own, inner;
  bool centred;
  double epsilon;
  std::int64_t rows() const { return batch * groups; }
  std::int64_t length() const { return own * inner; }
  Shape shape() const { return {batch, groups, own, inner}; }
  Shape channels() const { return {1, groups, own, 1}; }
};

/// All arrays are contiguous; weight and bias are [channels] or numbers. Returns false, with nothing done, if rows are
/// too long.
bool norm_rows(Gpu& gpu, const Groups& groups, const Array& x, const PointwiseOperand& weight,
               const PointwiseOperand& bias, const Array& y, bool in_place);
/// Does the same for the gradient of x; stores the moments.
bool norm_gradient_rows(Gpu& gpu, const Groups& groups, const Array& g, const Array& x, const PointwiseOperand& weight,
                        const Array& dx, const Moments& moments);

/// The whole gradient of a layer norm in one pass over x and g, except for the sum over the teams of threads: weight
/// and bias are [teams, 1, channels, 1]. None, with nothing done, if rows are too long or too few.
struct NormGradientParts {
  Value weight, bias;
};
std::optional<NormGradientParts> norm_gradient_parts(Gpu& gpu, const Groups& groups, const Array& g, const Array& x,
                                                     const PointwiseOperand& weight, const Array& dx);

}  // namespace kiln::gpu::family
