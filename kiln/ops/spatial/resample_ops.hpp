// Resizing along one dimension. Every interpolation on a grid is a linear map of each line of elements; interpolation
// over several dimensions applies one map after the other.
#pragma once
#include <vector>

#include "kiln/ops/spatial/interpolation.hpp"
#include "kiln/ops/traits.hpp"

namespace kiln::op {

/// Resizes dimension `dim` from size `from` to size `to`; if transposed, it is the adjoint, from `to` to `from`.
struct Resample {
  static constexpr std::string_view kName = "resample";
  static constexpr OpTraits kTraits{Pattern::Opaque, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  int dim;
  std::int64_t from, to;
  Interpolation mode = Interpolation::Linear;
  bool align_corners = false;  // the first and last elements keep their positions, rather than the outer edges
  bool antialias = false;      // on shrinking, the kernel is widened so that all elements contribute
  double step = 0;             // the distance in the operand between neighbours of the result; 0: from the sizes
  bool transposed = false;

  /// Result i is the sum of weights[first + k] * x[begin + k] for k < count: the rows of the map's band matrix.
  struct Taps {
    struct TapRow {
      std::int64_t begin, count, first;
    };
    std::vector<TapRow> rows;
    std::vector<double> weights;
  };
  Taps taps() const;

  Descs infer(Inputs in) const;
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op
