// Convolutions as loops over all their products, for tests of kernels.
#pragma once
#include <ostream>

#include "kiln/ops/spatial/conv_ops.hpp"

namespace kiln::cpu {

struct Case {
  std::int64_t batch, in, out;
  Spatial sizes, kernel, stride, padding, padding_after, dilation;
  std::int64_t groups = 1;

  op::Conv conv() const { return {stride, padding, padding_after, dilation, groups}; }
  Spatial result() const {
    Spatial result;
    for (int i = 0; i < sizes.size(); ++i)
      result.push_back((sizes[i] + padding[i] + padding_after[i] - dilation[i] * (kernel[i] - 1) - 1) / stride[i] + 1);
    return result;
  }
  Shape x() const { return join(batch, in, sizes); }
  Shape y() const { return join(batch, out, result()); }
  Shape weight() const { return join(out, in / groups, kernel); }

  static Shape join(std::int64_t a, std::int64_t b, const Spatial& rest) {
    Shape shape{a, b};
    for (const std::int64_t size : rest) shape.push_back(size);
    return shape;
  }
};

inline void PrintTo(const Case& c, std::ostream* out) {
  *out << text("x ", c.x(), ", weight ", c.weight(), ", stride ", c.stride, ", padding ", c.padding, " to ",
               c.padding_after, ", dilation ", c.dilation, ", groups ", c.groups);
}

/// Calls f(index in x, index in weight, index in y) for every product of a convolution, in row-major offsets.
template <class F>
void each_product(const Case& c, F&& f) {
  const auto padded = [](Spatial list, std::int64_t fill) {
    while (list.size() < 3) list.insert(0, fill);
    return list;
  };
  const Spatial size = padded(c.sizes, 1), kernel = padded(c.kernel, 1), result = padded(c.result(), 1),
                stride = padded(c.stride, 1), padding = padded(c.padding, 0), dilation = padded(c.dilation, 1);
  const std::int64_t ins = c.in / c.groups, outs = c.out / c.groups;
  for (std::int64_t n = 0; n < c.batch; ++n)
    for (std::int64_t o = 0; o < c.out; ++o)
      for (std::int64_t i = 0; i < ins; ++i)
        for (std::int64_t z = 0; z < result[0]; ++z)
          for (std::int64_t y = 0; y < result[1]; ++y)
            for (std::int64_t x = 0; x < result[2]; ++x)
              for (std::int64_t a = 0; a < kernel[0]; ++a)
                for (std::int64_t b = 0; b < kernel[1]; ++b)
                  for (std::int64_t d = 0; d < kernel[2]; ++d) {
                    const std::int64_t p = z * stride[0] - padding[0] + a * dilation[0],
                                       q = y * stride[1] - padding[1] + b * dilation[1],
                                       r = x * stride[2] - padding[2] + d * dilation[2];
                    if (p < 0 || q < 0 || r < 0 || p >= size[0] || q >= size[1] || r >= size[2]) continue;
                    const std::int64_t channel = o / outs * ins + i;
                    f((((n * c.in + channel) * size[0] + p) * size[1] + q) * size[2] + r,
                      (((o * ins + i) * kernel[0] + a) * kernel[1] + b) * kernel[2] + d,
                      (((n * c.out + o) * result[0] + z) * result[1] + y) * result[2] + x);
                  }
}

}  // namespace kiln::cpu
