// What rows of elementwise operators share: how two operands broadcast in all versions of the operator set, and types.
#pragma once
#include "kiln/onnx/call.hpp"

namespace kiln::onnx {

/// The first two inputs. Before version 7 the second one broadcasts if `broadcast` says so, from dimension `axis` on.
inline std::pair<Value, Value> operands(const Call& c) {
  const Value &a = c[0], &b = c[1];
  if (c.version() >= 7 || !c.i("broadcast", 0) || !c.given("axis") || b.rank() == 0) return {a, b};
  const int first = c.dim(c.i("axis", 0), a.rank());
  Shape shape = b.shape();
  while (first + shape.size() < a.rank()) shape.push_back(1);
  return {a, reshape(b, shape)};
}

/// A function of the first input alone.
template <Value (*function)(const Value&)>
Results result_of(Call& c) {
  return function(c[0]);
}

/// The type that floats are normalised in: halves in float32.
inline DType wide_type(DType type) { return type == DType::F64 ? DType::F64 : DType::F32; }

/// The numbers of x along dimension `dim` of `rank`, of which all others have the size 1.
inline Value along(const Value& x, int dim, int rank) {
  Shape shape = Shape::filled(rank, 1);
  shape[dim] = x.numel();
  return reshape(x, shape);
}
/// 0, 1, ..., size - 1 along dimension `dim` of `rank`.
inline Value counted(std::int64_t size, int dim, int rank, const Device& device) {
  return along(arange(0, size, 1, device), dim, rank);
}

inline Value of_type(const Value& x, DType type) { return x.dtype() == type ? x : cast(x, type); }

}  // namespace kiln::onnx
