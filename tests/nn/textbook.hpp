// Layers as textbooks have them, in loops over float64.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "kiln/nn/attention/attention.hpp"

#include "sines.hpp"

namespace kiln {

using Doubles = std::vector<double>;
inline Doubles doubles(const auto& tensor) { return tensor.data().to(DType::F64).template to_vector<double>(); }

/// x [rows, in] through a linear layer.
inline Doubles through(const nn::Linear& layer, const Doubles& x) {
  const Doubles weight = doubles(layer.weight), bias = layer.bias.empty() ? Doubles() : doubles(layer.bias);
  const auto out = static_cast<std::size_t>(layer.weight.dim(0)), in = static_cast<std::size_t>(layer.weight.dim(1));
  Doubles y(x.size() / in * out);
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] = bias.empty() ? 0 : bias[i % out];
    for (std::size_t j = 0; j < in; ++j) y[i] += x[i / out * in + j] * weight[i % out * in + j];
  }
  return y;
}

/// Turns elements i and i + width / 2 of a head by position * 10000^(-2 i / width).
inline void turn(Doubles& rows, std::size_t heads, std::size_t width, std::size_t time) {
  for (std::size_t row = 0; row < rows.size() / width; ++row)
    for (std::size_t i = 0; i < width / 2; ++i) {
      const double angle = static_cast<double>(row / heads % time) *
                           std::pow(10000.0, -2 * static_cast<double>(i) / static_cast<double>(width));
      double &a = rows[row * width + i], &b = rows[row * width + i + width / 2];
      const double turned = a * std::cos(angle) - b * std::sin(angle);
      b = b * std::cos(angle) + a * std::sin(angle);
      a = turned;
    }
}

using Seen = std::function<bool(std::size_t b, std::size_t h, std::size_t i, std::size_t j)>;
using Bias = std::function<double(std::size_t b, std::size_t h, std::size_t i, std::size_t j)>;

/// The textbook's formulas; `seen` says who may look at whom.
inline Doubles attended(const nn::MultiHeadAttention& m, const Tensor<3>& x, const Tensor<3>& context, const Seen& seen,
                        const Bias& bias) {
  const auto heads = static_cast<std::size_t>(m.heads), batch = static_cast<std::size_t>(x.dim(0));
  const auto queries = static_cast<std::size_t>(x.dim(1)), keys = static_cast<std::size_t>(context.dim(1));
  const std::size_t width = static_cast<std::size_t>(m.query.weight.dim(0)) / heads;
  const std::size_t kv_heads = static_cast<std::size_t>(m.key.weight.dim(0)) / width;
  Doubles q = through(m.query, doubles(x)), k = through(m.key, doubles(context));
  const Doubles v = through(m.value, doubles(context));
  if (m.rotary) {
    turn(q, heads, width, queries);
    turn(k, kv_heads, width, keys);
  }
  Doubles mixed(batch * queries * heads * width);
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t h = 0; h < heads; ++h)
      for (std::size_t i = 0; i < queries; ++i) {
        const std::size_t group = h / (heads / kv_heads);
        Doubles shares(keys);
        double total = m.quiet ? 1 : 0;
        for (std::size_t j = 0; j < keys; ++j) {
          double score = 0;
          for (std::size_t p = 0; p < width; ++p)
            score +=
                q[((b * queries + i) * heads + h) * width + p] * k[((b * keys + j) * kv_heads + group) * width + p];
          score /= std::sqrt(static_cast<double>(width));
          if (m.softcap > 0) score = m.softcap * std::tanh(score / m.softcap);
          if (bias) score += bias(b, h, i, j);
          const double distance = std::abs(static_cast<double>(i) - static_cast<double>(j));
          if (m.alibi) score -= distance * std::exp2(-8 * static_cast<double>(h + 1) / static_cast<double>(heads));
          const bool near = !m.window || distance < static_cast<double>(*m.window);
          shares[j] = near && seen(b, h, i, j) ? std::exp(score) : 0;
          total += shares[j];
        }
        for (std::size_t j = 0; j < keys && total > 0; ++j)
          for (std::size_t p = 0; p < width; ++p)
            mixed[((b * queries + i) * heads + h) * width + p] +=
                shares[j] / total * v[((b * keys + j) * kv_heads + group) * width + p];
      }
  return through(m.output, mixed);
}

inline void expect_near(const Tensor<3>& actual, const Doubles& right) {
  const Doubles found = doubles(actual);
  ASSERT_EQ(found.size(), right.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], right[i], 2e-5 * std::max(1.0, std::abs(right[i]))) << "element " << i;
}

/// Rows of `width` less their mean, divided by their deviation; weight 1 and bias 0.
inline Doubles layer_normed(Doubles x, std::size_t width) {
  for (std::size_t row = 0; row < x.size(); row += width) {
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < width; ++i) mean += x[row + i] / static_cast<double>(width);
    for (std::size_t i = 0; i < width; ++i) variance += std::pow(x[row + i] - mean, 2) / static_cast<double>(width);
    for (std::size_t i = 0; i < width; ++i) x[row + i] = (x[row + i] - mean) / std::sqrt(variance + 1e-5);
  }
  return x;
}
inline Doubles plus(Doubles x, const Doubles& y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  return x;
}
inline double gelu_of(double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }

inline bool everything(std::size_t, std::size_t, std::size_t, std::size_t) { return true; }
inline bool earlier(std::size_t, std::size_t, std::size_t i, std::size_t j) { return j <= i; }

}  // namespace kiln
