// A gpu::Convolution by loops over doubles, of tensors in the host's memory.
#pragma once
#include <vector>

#include "kiln/backend/gpu/convolution.hpp"
#include "kiln/core/half.hpp"

namespace kiln::test {

inline double load(DType dtype, const std::byte* start, std::int64_t i) {
  switch (dtype) {
    case DType::F64: return reinterpret_cast<const double*>(start)[i];
    case DType::F32: return static_cast<double>(reinterpret_cast<const float*>(start)[i]);
    case DType::F16: return static_cast<double>(static_cast<float>(reinterpret_cast<const F16*>(start)[i]));
    default: return static_cast<double>(static_cast<float>(reinterpret_cast<const BF16*>(start)[i]));
  }
}
inline void store(DType dtype, std::byte* start, std::int64_t i, double x) {
  const auto rounded = static_cast<float>(x);
  switch (dtype) {
    case DType::F64: reinterpret_cast<double*>(start)[i] = x; break;
    case DType::F32: reinterpret_cast<float*>(start)[i] = rounded; break;
    case DType::F16: reinterpret_cast<F16*>(start)[i] = F16(rounded); break;
    default: reinterpret_cast<BF16*>(start)[i] = BF16(rounded);
  }
}

/// The next index of a shape in row-major order. False after the last.
inline bool step(Dims& index, const Shape& shape) {
  for (int i = shape.size() - 1; i >= 0; --i) {
    if (++index[i] < shape[i]) return true;
    index[i] = 0;
  }
  return false;
}
inline std::int64_t place(const Dims& index, const Dims& strides) {
  std::int64_t at = 0;
  for (int i = 0; i < index.size(); ++i) at += index[i] * strides[i];
  return at;
}

inline void convolve_by_loops(const gpu::Convolution& c) {
  using Kind = gpu::Convolution::Kind;
  const auto& made = c.kind == Kind::Forward ? c.y : c.kind == Kind::DataGradient ? c.x : c.weight;
  std::int64_t reach = 1;
  for (int i = 0; i < made.sizes.size(); ++i) reach += (made.sizes[i] - 1) * made.strides[i];
  std::vector<double> sums(static_cast<std::size_t>(reach));
  const std::int64_t out_each = c.weight.sizes[0] * c.weight.sizes[1] / c.x.sizes[1];
  Dims w = Dims::filled(c.weight.sizes.size(), 0);  // [out, in of the group, tap...]
  do {
    Dims y = Dims::filled(c.y.sizes.size(), 0);
    do {
      if (y[1] != w[0]) continue;
      Dims x = y;
      x[1] = w[0] / out_each * c.weight.sizes[1] + w[1];
      bool inside = true;
      for (int axis = 0; axis < c.stride.size(); ++axis) {
        std::int64_t& at = x[axis + 2];
        at = at * c.stride[axis] - c.padding[axis] + w[axis + 2] * c.dilation[axis];
        inside = inside && at >= 0 && at < c.x.sizes[axis + 2];
      }
      if (!inside) continue;
      const std::int64_t at[] = {place(x, c.x.strides), place(w, c.weight.strides), place(y, c.y.strides)};
      const auto x_value = [&] { return load(c.dtype, c.x.data, at[0]); };
      const auto w_value = [&] { return load(c.dtype, c.weight.data, at[1]); };
      const auto y_value = [&] { return load(c.dtype, c.y.data, at[2]); };
      if (c.kind == Kind::Forward) sums[static_cast<std::size_t>(at[2])] += x_value() * w_value();
      if (c.kind == Kind::DataGradient) sums[static_cast<std::size_t>(at[0])] += y_value() * w_value();
      if (c.kind == Kind::WeightGradient) sums[static_cast<std::size_t>(at[1])] += x_value() * y_value();
    } while (step(y, c.y.sizes));
  } while (step(w, c.weight.sizes));
  Dims index = Dims::filled(made.sizes.size(), 0);
  do {
    const std::int64_t at = place(index, made.strides);
    store(c.dtype, made.data, at, sums[static_cast<std::size_t>(at)]);
  } while (step(index, made.sizes));
}

}  // namespace kiln::test
