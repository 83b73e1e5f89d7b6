// Resizing along one dimension. Every way of interpolating on a grid is a linear map of each line of elements, and
// those of several dimensions are maps of one after the other.
#pragma once
#include <vector>

#include "kiln/ops/spatial/interpolation.hpp"
#include "kiln/ops/traits.hpp"

namespace kiln::op {

/// Dimension `dim` from size `from` to size `to`; transposed: the adjoint of that, from `to` to `from`.
struct Resample {
  static constexpr std::string_view kName = "resample";
  static constexpr Facts kFacts{Pattern::Opaque, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  int dim;
  std::int64_t from, to;
  Interpolation mode = Interpolation::Linear;
  bool align_corners = false;  // the first and last elements keep their places, rather than the outer edges
  bool antialias = false;      // on shrinking, the kernel is widened so that every element counts
  double step = 0;             // elements of the operand between neighbours of the result; 0: as the sizes have it
  bool transposed = false;

  /// Result i is the sum of weights[first + k] * x[begin + k] for k < count: the map's matrix, a band.
  struct Taps {
    struct Row {
      std::int64_t begin, count, first;
    };
    std::vector<Row> rows;
    std::vector<double> weights;
  };
  Taps taps() const;

  Descs infer(Inputs in) const;
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op
