// Group norm of floats and halves in single precision, its gradient, and group norm of doubles. Each group is computed
// from beginning to end while it is in the cache.
#include <cmath>

#include "kiln/backend/cpu/simd/norm/channel_norm.hpp"
#include "kiln/backend/cpu/simd/norm/float_rows.hpp"
#include "kiln/backend/cpu/simd/norm/norm.hpp"
#include "kiln/ops/norm/channel_norm_ops.hpp"

namespace kiln::cpu::simd {
namespace {

using std::int64_t;

constexpr int64_t kShortRow = 4096;                          // so few elements that their float sums are exact enough
constexpr int64_t kTogether = 16, kTogetherElements = 1024;  // the most short rows at a time, and their elements

/// The groups of a tensor, which is row-major: each row is one group. If a channel has one element, the elements of a
/// row have different coefficients.
struct Groups {
  int64_t channels, inner, groups, rows;
  bool centred;
  double epsilon;
  int64_t own() const { return channels / groups; }  // channels of a group
  int64_t length() const { return own() * inner; }
  bool of_layers() const { return inner == 1 && groups == 1 && length() <= kShortRow; }
  bool fit() const { return rows > 0 && length() > 0 && (inner == 1 || inner >= kShortest); }
};
template <class Op>
Groups groups_of(const Op& op, Call call) {
  const Shape& shape = call.in[Op::x].shape();
  int64_t inner = 1;
  for (int i = 2; i < shape.size(); ++i) inner *= shape[i];
  return {shape[1],   inner,
          op.groups,  shape[0] * op.groups,
          op.centred, call.in[Op::epsilon].scalar().template to<double>()};
}
double inverse_deviation(const Groups& s, const Moments& m) { return 1 / std::sqrt(m.squares / m.count + s.epsilon); }

/// Computes group norm as a layer norm of each group.
bool group_norm_of_doubles(const op::GroupNorm& op, Call call) {
  using op::GroupNorm;
  const Groups s = groups_of(op, call);
  if (!s.centred || s.rows == 0 || s.length() == 0) return false;
  Value held;
  const auto* const x = read_contiguous(call.in[GroupNorm::x], held).as<const double>();
  const std::vector<double> weight = per_channel<double>(call.in[GroupNorm::weight], s.channels),
                            bias = per_channel<double>(call.in[GroupNorm::bias], s.channels, 0);
  auto* const z = allocate(call.out[0]).as<double>();
  Parts(s.rows, s.length()).each([&](int64_t, int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t at = row * s.length(), first = row % s.groups * s.own();
      layer_norm_row(x + at, {weight.data() + first, bias.data() + first, s.epsilon, true, s.inner}, z + at,
                     s.length());
    }
  });
  return true;
}

/// Computes gradients of float32 row by row: that of x, which is written to z, and what each row adds to those of
/// weight and bias.
struct GradientRows {
  const Groups& s;
  const float *x, *g, *weight;
  float* z;

  struct Row {
    Moments moments;
    double inverse, sums[3];  // 1 / deviation; the sums of weight * g and of weight * g * (x - mean)
  };

  /// Computes rows [begin, begin + count). Each step is done for all of them before the next step, so that no row waits
  /// for its own sums.
  void some(int64_t begin, int64_t count, float* dweight, float* dbias) const {
    Row rows[kTogether] = {};
    for (int64_t k = 0; k < count; ++k)
      rows[k].moments = moments_of(x + (begin + k) * s.length(), s.length(), s.centred);
    for (Row& row : rows) row.inverse = row.moments.count ? inverse_deviation(s, row.moments) : 0;
    for (int64_t k = 0; k < count; ++k) {
      const int64_t first = (begin + k) % s.groups * s.own();
      add(rows[k], begin + k, dweight + first, dbias + first);
    }
    for (int64_t k = 0; k < count; ++k) combine(rows[k], begin + k);
  }

 private:
  /// Computes the sums from which a row's gradient of x follows, and adds its gradients of weight and bias.
  void add(Row& row, int64_t i, float* dweight, float* dbias) const {
    const float *const from = x + i * s.length(), *const slope = g + i * s.length();
    const float* const factors = weight + i % s.groups * s.own();
    const double mean = row.moments.mean;
    const auto near = static_cast<float>(mean);
    if (s.inner == 1) {
      add_products(slope, {factors, 1}, from, near, s.length(), row.sums);
      row.sums[1] -= (mean - near) * row.sums[0];
      norm_rows().add_gradients(slope, from, ConstantCentre(mean), static_cast<float>(row.inverse), s.length(), dbias,
                                dweight);
      return;
    }
    for (int64_t c = 0; c < s.own(); ++c) {
      double own[3] = {};
      add_products(slope + c * s.inner, Constant(1), from + c * s.inner, near, s.inner, own);
      own[1] -= (mean - near) * own[0];
      row.sums[0] += static_cast<double>(factors[c]) * own[0];
      row.sums[1] += static_cast<double>(factors[c]) * own[1];
      dbias[c] += static_cast<float>(own[0]);
      dweight[c] += static_cast<float>(own[1] * row.inverse);
    }
  }

  // dx = (weight * g - mean(weight * g) - (x - mean) * mean(weight * g * (x - mean)) / deviation^2) / deviation
  void combine(const Row& row, int64_t i) const {
    const float *const from = x + i * s.length(), *const slope = g + i * s.length();
    const float* const factors = weight + i % s.groups * s.own();
    float* const to = z + i * s.length();
    const double count = row.moments.count;
    const Constant b(static_cast<float>(-row.inverse * row.inverse * row.sums[1] / count)),
        c(s.centred ? static_cast<float>(-row.sums[0] / count) : 0.0f);
    const ConstantCentre mean(row.moments.mean);
    const auto scale = static_cast<float>(row.inverse);
    if (s.inner == 1) return norm_rows().combine(slope, from, mean, scale, {factors, 1}, b, c, to, s.length());
    for (int64_t k = 0; k < s.own(); ++k)
      norm_rows().combine(slope + k * s.inner, from + k * s.inner, mean, scale, Constant(factors[k]), b, c,
                          to + k * s.inner, s.inner);
  }
};

/// Sums over the parts: [parts, channels] -> [channels].
std::vector<float> sums_of_parts(const std::vector<float>& parts, std::size_t channels) {
  std::vector<float> sums(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    double sum = 0;
    for (std::size_t i = c; i < parts.size(); i += channels) sum += parts[i];
    sums[c] = static_cast<float>(sum);
  }
  return sums;
}

}  // namespace

bool run(const op::GroupNorm& op, Call call) {
  using op::GroupNorm;
  if (call.in[GroupNorm::x].dtype() == DType::F64) return group_norm_of_doubles(op, call);
  if (!is_single_or_half(call.in[GroupNorm::x].dtype())) return false;
  const Groups s = groups_of(op, call);
  if (!s.fit()) return false;
  Value held;
  const Array x = read_contiguous(call.in[GroupNorm::x], held);
  const std::vector<float> weight = per_channel(call.in[GroupNorm::weight], s.channels),
                           bias = per_channel(call.in[GroupNorm::bias], s.channels, 0);
  const FloatRows all(x, allocate(call.out[0]), s.length());
  if (s.of_layers()) {
    const RowNorm<float> norm{weight.data(), bias.data(), static_cast<float>(s.epsilon), s.centred};
    Parts(s.rows, s.length()).each([&](int64_t, int64_t begin, int64_t end) {
      all.rows(begin, end,
               [&](const float* from, float* to, int64_t rows) { layer_norm_rows(from, norm, to, rows, s.length()); });
    });
    return true;
  }
  Parts(s.rows, s.length()).each([&](int64_t, int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      all.row(row, [&](const float* from, float* to) {
        const int64_t first = row % s.groups * s.own();
        const Moments m = moments_of(from, s.length(), s.centred);
        const ConstantCentre mean(m.mean);
        const auto inverse = static_cast<float>(inverse_deviation(s, m));
        if (s.inner == 1)
          return norm_rows().affine(from, mean, inverse, {weight.data() + first, 1}, {bias.data() + first, 1}, to,
                                    s.length());
        for (int64_t c = 0; c < s.own(); ++c) {
          const auto channel = static_cast<std::size_t>(first + c);
          norm_rows().affine(from + c * s.inner, mean, inverse, Constant(weight[channel]), Constant(bias[channel]),
                             to + c * s.inner, s.inner);
        }
      });
  });
  return true;
}

bool run(const op::GroupNormGrad& op, Call call) {
  using op::GroupNormGrad;
  if (call.in[GroupNormGrad::x].dtype() != DType::F32) return false;
  const Groups s = groups_of(op, call);
  if (!s.fit()) return false;
  Value held[2];
  const float* x = read_contiguous(call.in[GroupNormGrad::x], held[0]).as<const float>();
  const float* g = read_contiguous(call.in[GroupNormGrad::grad], held[1]).as<const float>();
  const std::vector<float> weight = per_channel(call.in[GroupNormGrad::weight], s.channels);
  const GradientRows rows{s, x, g, weight.data(), allocate(call.out[0]).as<float>()};
  const Parts parts(s.rows, s.length());
  const auto size = static_cast<std::size_t>(s.channels);
  std::vector<float> dweights(static_cast<std::size_t>(parts.count()) * size), dbiases = dweights;
  const int64_t at_a_time = std::clamp<int64_t>(kTogetherElements / s.length(), 1, kTogether);
  parts.each([&](int64_t part, int64_t begin, int64_t end) {
    float *const dweight = dweights.data() + part * s.channels, *const dbias = dbiases.data() + part * s.channels;
    if (s.of_layers()) {
      const int64_t at = begin * s.length();
      return norm_rows().layer_gradients(x + at, g + at, {weight.data(), s.length(), s.centred, s.epsilon}, end - begin,
                                         rows.z + at, dweight, dbias);
    }
    for (int64_t first = begin; first < end; first += at_a_time)
      rows.some(first, std::min(at_a_time, end - first), dweight, dbias);
  });
  write(sums_of_parts(dweights, size), call.out[1]);
  write(sums_of_parts(dbiases, size), call.out[2]);
  return true;
}

}  // namespace kiln::cpu::simd
