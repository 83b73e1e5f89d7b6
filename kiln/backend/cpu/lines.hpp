// A row-major array seen along one dimension: [outer, length, inner]. Ops that work along a dimension visit its lines.
#pragma once
#include <algorithm>

#include "kiln/backend/cpu/rows.hpp"

namespace kiln::cpu {

struct Lines {
  std::int64_t outer = 1, length, inner = 1;

  Lines(const Shape& shape, int dim) : length(shape[dim]) {
    for (int i = 0; i < dim; ++i) outer *= shape[i];
    for (int i = dim + 1; i < shape.size(); ++i) inner *= shape[i];
  }
  std::int64_t count() const { return outer * inner; }
};

/// Returns the dimensions of a shape with `dim` as the innermost.
inline Shape innermost(Shape shape, int dim) {
  const std::int64_t size = shape[dim];
  shape.erase(dim);
  shape.push_back(size);
  return shape;
}

/// Returns strides that cover `shape` without gaps such that the elements along `dim` are neighbours.
inline Dims strides_along(const Shape& shape, int dim) {
  Dims strides = contiguous_strides(innermost(shape, dim));
  strides.pop_back();
  strides.insert(dim, 1);
  return strides;
}

/// Returns an operand's elements such that those along `dim` are neighbours and lines follow one another in row-major
/// order: in place if they are stored so, otherwise copied (into `held`, which keeps the copy alive).
inline const std::byte* read_along(const Value& value, int dim, Value& held) {
  const Array x = read(value);
  const Array permuted{
      .data = x.data, .dtype = x.dtype, .shape = innermost(x.shape, dim), .strides = innermost(x.strides, dim)};
  if (permuted.contiguous()) return x.data;
  held = Value(make_ref<Node>(Desc{permuted.shape, x.dtype}, value.device()));
  const Array copied = allocate(held, MemoryUse::Scratch);
  copy(permuted, copied);
  return copied.data;
}

}  // namespace kiln::cpu
