// Functions along a dimension also take tensors of rank 0, as a line of one element, whose dimension is 0 or -1.
#pragma once
#include "kiln/ops/reduce/with_indices.hpp"

namespace kiln {

/// Whether x is a tensor of rank 0. Throws IndexError where it is, but `dim` is neither 0 nor -1.
inline bool is_point(std::string_view op, const Value& x, std::int64_t dim) {
  if (!x.node() || x.rank() > 0) return false;
  if (dim != 0 && dim != -1) wrap_dim(op, dim, 0);
  return true;
}
inline Value line_of(const Value& point) { return reshape(point, {1}); }
inline Value point_of(const Value& line) { return reshape(line, {}); }
inline ValueWithIndices point_of(const ValueWithIndices& line) {
  return {point_of(line.values), point_of(line.indices)};
}

}  // namespace kiln
