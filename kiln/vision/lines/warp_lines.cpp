#include "kiln/vision/lines/warp_lines.hpp"

#include <algorithm>
#include <cmath>

#include "kiln/vision/lines/border.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/vision/lines/warp_lines.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace kiln::vision::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The weights of the four elements around a point, the fraction `t` of the way from the second to the third (Keys, "Cubic
/// convolution interpolation for digital image processing", 1981, with a slope of -3/4). T is a float or a vector.
template <class T, class Of>
HWY_INLINE void cubic_weights(T t, T (&weight)[4], Of of) {
  constexpr float kSlope = -0.75f;
  const T near = of.sub(of.number(1), t);
  const auto outer = [&](T x) HWY_ATTR {  // 1 <= x <= 2
    const T a = of.add(of.mul(x, of.number(kSlope)), of.number(-5 * kSlope));
    return of.add(of.mul(of.add(of.mul(a, x), of.number(8 * kSlope)), x), of.number(-4 * kSlope));
  };
  const auto inner = [&](T x) HWY_ATTR {  // 0 <= x <= 1
    const T a = of.add(of.mul(x, of.number(kSlope + 2)), of.number(-kSlope - 3));
    return of.add(of.mul(of.mul(a, x), x), of.number(1));
  };
  weight[0] = outer(of.add(t, of.number(1)));
  weight[1] = inner(t);
  weight[2] = inner(near);
  weight[3] = outer(of.add(near, of.number(1)));
}

struct Numbers {
  static float number(float x) { return x; }
  static float add(float a, float b) { return a + b; }
  static float sub(float a, float b) { return a - b; }
  static float mul(float a, float b) { return a * b; }
};

template <class D>
struct Vectors {
  using V = hn::Vec<D>;
  D d;
  HWY_INLINE V number(float x) const { return hn::Set(d, x); }
  HWY_INLINE V add(V a, V b) const { return hn::Add(a, b); }
  HWY_INLINE V sub(V a, V b) const { return hn::Sub(a, b); }
  HWY_INLINE V mul(V a, V b) const { return hn::Mul(a, b); }
};

/// One point anywhere, whose elements may lie outside. `u` and `v` are its column and its row, where elements are whole numbers.
HWY_INLINE void read_point(const WarpSource& source, const float* x, double u, double v, const WarpLine& line,
                           float* y) {
  const std::int64_t first = source.is_cubic ? -1 : 0, taps = source.is_cubic ? 4 : 2;
  if (!(u == u) || !(v == v)) {
    for (std::int64_t c = 0; c < source.channels; ++c) y[c * line.channel_stride] = 0;
    return;
  }
  const double reach = source.is_cubic ? 2 : 1;
  const auto is_beyond = [&](double place, std::int64_t size) {
    return place < -reach || place >= static_cast<double>(size) + reach - 1;
  };
  if (source.border == Border::Constant && (is_beyond(u, source.columns) || is_beyond(v, source.rows))) {
    for (std::int64_t c = 0; c < source.channels; ++c) y[c * line.channel_stride] = source.outside;
    return;
  }
  constexpr double kFarthest = 1e15;  // where it is a whole number of int64
  u = std::clamp(u, -kFarthest, kFarthest);
  v = std::clamp(v, -kFarthest, kFarthest);
  const double left = std::floor(u), top = std::floor(v);
  float across[4], down[4];
  const auto right = static_cast<float>(u - left), below = static_cast<float>(v - top);
  if (source.is_cubic) {
    cubic_weights(right, across, Numbers());
    cubic_weights(below, down, Numbers());
  } else {
    across[0] = 1 - right, across[1] = right, down[0] = 1 - below, down[1] = below;
  }
  std::int64_t columns[4], rows[4];
  for (std::int64_t k = 0; k < taps; ++k) {
    columns[k] = place_of(static_cast<std::int64_t>(left) + first + k, source.columns, source.border);
    rows[k] = place_of(static_cast<std::int64_t>(top) + first + k, source.rows, source.border);
  }
  for (std::int64_t c = 0; c < source.channels; ++c, x += source.rows * source.columns) {
    float sum = 0;
    for (std::int64_t i = 0; i < taps; ++i)
      for (std::int64_t k = 0; k < taps; ++k) {
        const bool is_inside = rows[i] >= 0 && columns[k] >= 0;
        sum += down[i] * across[k] * (is_inside ? x[rows[i] * source.columns + columns[k]] : source.outside);
      }
    y[c * line.channel_stride] = sum;
  }
}

using Doubles = hn::ScalableTag<double>;
using Words = hn::RebindToUnsigned<Doubles>;
using Offsets = hn::RebindToSigned<Doubles>;
using Floats = hn::Rebind<float, Doubles>;  // half a vector

/// Two neighbours for each point.
struct Pair {
  hn::Vec<Floats> first, second;
};
HWY_INLINE Pair gather_pair(const float* x, hn::Vec<Offsets> bytes) {
  const Words words;
  const hn::Rebind<std::uint32_t, Doubles> halves;
  const Floats floats;
  const auto both = hn::GatherOffset(words, reinterpret_cast<const std::uint64_t*>(x), bytes);
  return {hn::BitCast(floats, hn::TruncateTo(halves, both)),
          hn::BitCast(floats, hn::TruncateTo(halves, hn::ShiftRight<32>(both)))};
}

/// Points whose elements all lie inside. `offset` is that of the element left above each, in bytes.
template <bool cubic>
HWY_INLINE hn::Vec<Floats> read_points(const float* x, std::int64_t columns, hn::Vec<Offsets> offset,
                                       hn::Vec<Floats> right, hn::Vec<Floats> below) {
  const auto at = [&](std::int64_t row, std::int64_t column)
                      HWY_ATTR { return gather_pair(x + row * columns + column, offset); };
  if constexpr (!cubic) {
    const auto between = [](hn::Vec<Floats> a, hn::Vec<Floats> b, hn::Vec<Floats> t)
                             HWY_ATTR { return hn::MulAdd(hn::Sub(b, a), t, a); };
    const Pair above = at(0, 0), under = at(1, 0);
    return between(between(above.first, above.second, right), between(under.first, under.second, right), below);
  } else {
    hn::Vec<Floats> across[4], down[4];
    cubic_weights(right, across, Vectors<Floats>());
    cubic_weights(below, down, Vectors<Floats>());
    auto sum = hn::Zero(Floats());
    for (std::int64_t row = 0; row < 4; ++row) {
      const Pair a = at(row - 1, -1), b = at(row - 1, 1);
      const auto left = hn::MulAdd(a.second, across[1], hn::Mul(a.first, across[0]));
      const auto of_row = hn::MulAdd(b.second, across[3], hn::MulAdd(b.first, across[2], left));
      sum = hn::MulAdd(of_row, down[row], sum);
    }
    return sum;
  }
}

template <bool cubic>
void read_line(const WarpSource& source, const float* x, const WarpLine& line, float* y) {
  const Doubles d;
  const Floats floats;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const double* const m = line.matrix;
  const double row = static_cast<double>(line.row) + 0.5;
  const bool is_affine = m[6] == 0 && m[7] == 0 && m[8] == 1;
  // An axis maps pixel i of the line to (start + i * step) / depth.
  double start[3];
  for (int k = 0; k < 3; ++k) start[k] = m[3 * k] * 0.5 + (m[3 * k + 1] * row + m[3 * k + 2]);
  constexpr double kReach = cubic ? 1 : 0;  // elements before the one left above
  const auto first = hn::Set(d, kReach);
  const auto last_column = hn::Set(d, static_cast<double>(source.columns - 2) - kReach);
  const auto last_row = hn::Set(d, static_cast<double>(source.rows - 2) - kReach);
  const auto half = hn::Set(d, 0.5);
  double us[HWY_LANES(double)], vs[HWY_LANES(double)];
  for (std::int64_t i = 0; i < line.count; i += lanes) {
    const auto place = hn::Iota(d, static_cast<double>(i));
    auto u = hn::MulAdd(place, hn::Set(d, m[0]), hn::Set(d, start[0]));
    auto v = hn::MulAdd(place, hn::Set(d, m[3]), hn::Set(d, start[1]));
    if (!is_affine) {
      auto depth = hn::MulAdd(place, hn::Set(d, m[6]), hn::Set(d, start[2]));
      depth = hn::IfThenElse(hn::Eq(depth, hn::Zero(d)), hn::Set(d, 1e-300), depth);
      u = hn::Div(u, depth);
      v = hn::Div(v, depth);
    }
    u = hn::Sub(u, half);
    v = hn::Sub(v, half);
    const auto left = hn::Floor(u), top = hn::Floor(v);
    const auto inside = hn::And(hn::And(hn::Ge(left, first), hn::Le(left, last_column)),
                                hn::And(hn::Ge(top, first), hn::Le(top, last_row)));
    if (i + lanes <= line.count && hn::AllTrue(d, inside)) {
      const auto element = hn::MulAdd(top, hn::Set(d, static_cast<double>(source.columns)), left);
      const auto offset = hn::ShiftLeft<2>(hn::ConvertTo(Offsets(), element));
      const auto right = hn::DemoteTo(floats, hn::Sub(u, left)), below = hn::DemoteTo(floats, hn::Sub(v, top));
      for (std::int64_t c = 0; c < source.channels; ++c)
        hn::StoreU(read_points<cubic>(x + c * source.rows * source.columns, source.columns, offset, right, below),
                   floats, y + c * line.channel_stride + i);
      continue;
    }
    hn::StoreU(u, d, us);
    hn::StoreU(v, d, vs);
    for (std::int64_t k = 0; k < std::min(lanes, line.count - i); ++k)
      read_point(source, x, us[k], vs[k], line, y + i + k);
  }
}

void read_any_line(const WarpSource& source, const float* x, const WarpLine& line, float* y) {
  if (source.is_cubic) read_line<true>(source, x, line, y);
  else read_line<false>(source, x, line, y);
}

}  // namespace kiln::vision::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::vision {

HWY_EXPORT(read_any_line);

void warp_line(const WarpSource& source, const float* x, const WarpLine& line, float* y) {
  HWY_DYNAMIC_DISPATCH(read_any_line)(source, x, line, y);
}

}  // namespace kiln::vision
#endif
