// A gpu::Attention by loops over doubles, of tensors in the host's memory.
#pragma once
#include <cmath>

#include "kiln/backend/gpu/attention.hpp"
#include "tests/backend/gpu/convolve.hpp"

namespace kiln::test {

inline void attend_by_loops(const gpu::Attention& a) {
  using Tensor = gpu::Attention::Tensor;
  const std::int64_t heads = a.q.sizes[1], queries = a.q.sizes[2], keys = a.k.sizes[2], shared = heads / a.k.sizes[1];
  const std::int64_t width = a.q.sizes[3], values = a.v.sizes[3];
  const DType wide = a.dtype == DType::F64 ? DType::F64 : DType::F32;
  const auto at = [&](const Tensor& x, const Dims& i) { return load(a.dtype, x.data, place(i, x.strides)); };
  const auto numbers = [](const Tensor& x) { return std::vector<double>(static_cast<std::size_t>(numel(x.sizes))); };
  const auto flat = [](const Tensor& x, const Dims& i) {
    return static_cast<std::size_t>(place(i, contiguous_strides(x.sizes)));
  };
  const auto write = [&](const Tensor& x, const std::vector<double>& from) {
    Dims i = Dims::filled(4, 0);
    do { store(a.dtype, x.data, place(i, x.strides), from[flat(x, i)]); } while (step(i, x.sizes));
  };
  const bool forward = a.kind == gpu::Attention::Kind::Forward;
  std::vector<double> out, q_grad, k_grad, v_grad;
  if (forward) out = numbers(a.out);
  else q_grad = numbers(a.q_grad), k_grad = numbers(a.k_grad), v_grad = numbers(a.v_grad);
  for (std::int64_t b = 0; b < a.q.sizes[0]; ++b)
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t i = 0; i < queries; ++i) {
        const std::int64_t g = h / shared, row = (b * heads + h) * queries + i;
        std::vector<double> shares(static_cast<std::size_t>(keys));
        double sum = 0, delta = 0;
        for (std::int64_t j = 0; j < keys; ++j) {
          const std::int64_t distance = i + keys - queries - j;
          if ((a.causal && distance < 0) || (a.window > 0 && std::abs(distance) >= a.window)) continue;
          double dot = 0;
          for (std::int64_t w = 0; w < width; ++w) dot += at(a.q, {b, h, i, w}) * at(a.k, {b, g, j, w});
          sum += shares[static_cast<std::size_t>(j)] = std::exp(dot * a.scale);
        }
        if (forward) store(wide, a.log_sum, row, std::log(sum));
        else sum = std::exp(load(wide, a.log_sum, row));
        for (std::int64_t w = 0; w < values && !forward; ++w)
          delta += at(a.grad, {b, h, i, w}) * at(a.out, {b, h, i, w});
        for (std::int64_t j = 0; j < keys; ++j) {
          const double share = shares[static_cast<std::size_t>(j)] / (sum > 0 ? sum : 1);
          double slope = -delta;
          for (std::int64_t w = 0; w < values; ++w) {
            if (forward) {
              out[flat(a.out, {b, h, i, w})] += share * at(a.v, {b, g, j, w});
              continue;
            }
            slope += at(a.grad, {b, h, i, w}) * at(a.v, {b, g, j, w});
            v_grad[flat(a.v_grad, {b, g, j, w})] += share * at(a.grad, {b, h, i, w});
          }
          for (std::int64_t w = 0; w < width && !forward; ++w) {
            q_grad[flat(a.q_grad, {b, h, i, w})] += share * slope * a.scale * at(a.k, {b, g, j, w});
            k_grad[flat(a.k_grad, {b, g, j, w})] += share * slope * a.scale * at(a.q, {b, h, i, w});
          }
        }
      }
  if (forward) return write(a.out, out);
  write(a.q_grad, q_grad);
  write(a.k_grad, k_grad);
  write(a.v_grad, v_grad);
}

}  // namespace kiln::test
