#include "kiln/backend/cpu/simd/spatial/grid_points.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/spatial/grid_points.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Ints = hn::ScalableTag<std::int32_t>;
using FloatVector = hn::Vec<Floats>;
using IntVector = hn::Vec<Ints>;

/// The elements that a vector of points reads along one axis: the element before each point, whether that and the one
/// after it are inside, and the fraction of the way between them. `slope` is how many elements a point moves with its
/// coordinate.
struct AxisVectors {
  IntVector before;
  hn::Mask<Ints> has_before, has_after;
  FloatVector fraction, slope;
};

HWY_INLINE AxisVectors along_axis(FloatVector coordinate, const GridAxis& axis) {
  const Floats f;
  const Ints i;
  const auto place = hn::Add(hn::Mul(coordinate, hn::Set(f, axis.scale)), hn::Set(f, axis.shift));
  const auto is_number = hn::Eq(place, place);
  const auto low = hn::Set(f, axis.low), high = hn::Set(f, axis.high), half = hn::Set(f, 0.5f);
  const auto raised = hn::IfThenElse(is_number, hn::Max(place, low), low), kept = hn::Min(raised, high);
  // At an end of the range, half of the gradient passes, as in the gradient of clamp().
  const auto share = [&](auto beyond, auto at_end) {
    return hn::Add(hn::IfThenElseZero(beyond, half), hn::IfThenElseZero(at_end, half));
  };
  const auto moves =
      hn::Mul(share(hn::Gt(place, low), hn::Ge(place, low)), share(hn::Lt(raised, high), hn::Le(raised, high)));
  const auto whole = hn::Floor(kept);
  const auto before = hn::ConvertTo(i, whole), after = hn::Add(before, hn::Set(i, 1));
  const auto inside = [&](auto place_of_tap) {
    const auto in = hn::And(hn::Gt(place_of_tap, hn::Set(i, -1)), hn::Lt(place_of_tap, hn::Set(i, axis.size)));
    return hn::And(in, hn::RebindMask(i, is_number));
  };
  return {before, inside(before), inside(after), hn::Sub(kept, whole), hn::Mul(moves, hn::Set(f, axis.scale))};
}

HWY_INLINE void find_taps_of(const GridAxis& across, const GridAxis& down, FloatVector u, FloatVector v,
                             std::int64_t at, GridTaps& taps) {
  const Floats f;
  const Ints i;
  const AxisVectors x = along_axis(u, across), y = along_axis(v, down);
  const auto one = hn::Set(f, 1.0f), left = hn::Sub(one, x.fraction), above = hn::Sub(one, y.fraction);
  const auto first = hn::Add(hn::Mul(y.before, hn::Set(i, across.size)), x.before);
  const auto index = [&](auto tap, auto row, auto column) {
    return hn::IfThenElse(hn::And(row, column), tap, hn::Set(i, -1));
  };
  const auto next = hn::Add(first, hn::Set(i, 1)), below = hn::Set(i, across.size);
  const auto a = index(first, y.has_before, x.has_before), b = index(next, y.has_before, x.has_after);
  const auto c = index(hn::Add(first, below), y.has_after, x.has_before),
             d = index(hn::Add(next, below), y.has_after, x.has_after);
  const auto weight = [&](auto tap, auto row, auto column) {
    return hn::IfThenElseZero(hn::RebindMask(f, hn::Gt(tap, hn::Set(i, -1))), hn::Mul(row, column));
  };
  hn::StoreInterleaved4(hn::BitCast(f, a), hn::BitCast(f, b), hn::BitCast(f, c), hn::BitCast(f, d), f,
                        reinterpret_cast<float*>(taps.index) + GridTaps::kTaps * at);
  hn::StoreInterleaved4(weight(a, above, left), weight(b, above, x.fraction), weight(c, y.fraction, left),
                        weight(d, y.fraction, x.fraction), f, taps.weight + GridTaps::kTaps * at);
  hn::Store(x.fraction, f, taps.fraction[0] + at);
  hn::Store(y.fraction, f, taps.fraction[1] + at);
  hn::Store(x.slope, f, taps.slope[0] + at);
  hn::Store(y.slope, f, taps.slope[1] + at);
}

void find_taps(const GridAxis& across, const GridAxis& down, const float* grid, std::int64_t count, GridTaps& taps) {
  const Floats f;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(f));
  float rest[2 * HWY_MAX_BYTES / sizeof(float)] = {};
  for (std::int64_t p = 0; p < count; p += lanes) {
    const float* from = grid + 2 * p;
    if (p + lanes > count) {
      std::copy_n(from, 2 * (count - p), rest);
      from = rest;
    }
    FloatVector u, v;
    hn::LoadInterleaved2(f, from, u, v);
    find_taps_of(across, down, u, v, p, taps);
  }
}

/// Calls all(point, indices, weights) for each point whose four taps are inside the image, and some(point, indices,
/// weights) for the others.
template <class All, class Some>
HWY_INLINE void each_point(const GridTaps& taps, std::int64_t count, All&& all, Some&& some) {
  for (std::int64_t p = 0; p < count; ++p) {
    const std::int32_t* index = taps.index + GridTaps::kTaps * p;
    const float* weight = taps.weight + GridTaps::kTaps * p;
    if ((index[0] | index[3]) >= 0) all(p, index, weight);
    else some(p, index, weight);
  }
}

void blend_all(const GridTaps& taps, std::int64_t count, GridPlanes planes, const float* x, float* y,
               std::int64_t points) {
  each_point(
      taps, count,
      [&](std::int64_t p, const std::int32_t* index, const float* weight) {
        const float a = weight[0], b = weight[1], c = weight[2], d = weight[3];
        const float *above = x + index[0], *below = x + index[2];
        for (std::int64_t k = 0; k < planes.count; ++k, above += planes.size, below += planes.size)
          y[k * points + p] = (a * above[0] + b * above[1]) + (c * below[0] + d * below[1]);
      },
      [&](std::int64_t p, const std::int32_t* index, const float* weight) {
        for (std::int64_t k = 0; k < planes.count; ++k) {
          float sum = 0;
          for (int t = 0; t < GridTaps::kTaps; ++t)
            if (index[t] >= 0) sum += weight[t] * x[k * planes.size + index[t]];
          y[k * points + p] = sum;
        }
      });
}

void spread_all(const GridTaps& taps, std::int64_t count, GridPlanes planes, const float* y, std::int64_t points,
                float* x) {
  each_point(
      taps, count,
      [&](std::int64_t p, const std::int32_t* index, const float* weight) {
        const float a = weight[0], b = weight[1], c = weight[2], d = weight[3];
        float *above = x + index[0], *below = x + index[2];
        const float* gradient = y + p;
        for (std::int64_t k = 0; k < planes.count; ++k, above += planes.size, below += planes.size) {
          const float g = gradient[k * points];
          above[0] += a * g;
          above[1] += b * g;
          below[0] += c * g;
          below[1] += d * g;
        }
      },
      [&](std::int64_t p, const std::int32_t* index, const float* weight) {
        for (std::int64_t k = 0; k < planes.count; ++k)
          for (int t = 0; t < GridTaps::kTaps; ++t)
            if (index[t] >= 0) x[k * planes.size + index[t]] += weight[t] * y[k * points + p];
      });
}

void weigh_all(const GridTaps& taps, std::int64_t count, GridPlanes planes, const float* x, const float* y,
               std::int64_t points, float* by_weight) {
  each_point(
      taps, count,
      [&](std::int64_t p, const std::int32_t* index, const float*) {
        float a = 0, b = 0, c = 0, d = 0;
        const float *above = x + index[0], *below = x + index[2], *gradient = y + p;
        for (std::int64_t k = 0; k < planes.count; ++k, above += planes.size, below += planes.size) {
          const float g = gradient[k * points];
          a += g * above[0];
          b += g * above[1];
          c += g * below[0];
          d += g * below[1];
        }
        float* to = by_weight + GridTaps::kTaps * p;
        to[0] = a, to[1] = b, to[2] = c, to[3] = d;
      },
      [&](std::int64_t p, const std::int32_t* index, const float*) {
        for (int t = 0; t < GridTaps::kTaps; ++t) {
          float sum = 0;
          if (index[t] >= 0)
            for (std::int64_t k = 0; k < planes.count; ++k) sum += y[k * points + p] * x[k * planes.size + index[t]];
          by_weight[GridTaps::kTaps * p + t] = sum;
        }
      });
}

void find_slopes(const GridTaps& taps, std::int64_t count, const float* by_weight, float* grid) {
  for (std::int64_t p = 0; p < count; ++p) {
    const float* g = by_weight + GridTaps::kTaps * p;
    const float right = taps.fraction[0][p], down = taps.fraction[1][p];
    grid[2 * p] = taps.slope[0][p] * ((g[1] - g[0]) * (1 - down) + (g[3] - g[2]) * down);
    grid[2 * p + 1] = taps.slope[1][p] * ((g[2] - g[0]) * (1 - right) + (g[3] - g[1]) * right);
  }
}

constexpr GridKernels kGridKernels{find_taps, blend_all, spread_all, weigh_all, find_slopes};
const GridKernels& find_grid_kernels() { return kGridKernels; }

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(find_grid_kernels);
const GridKernels& grid_kernels() { return HWY_DYNAMIC_DISPATCH(find_grid_kernels)(); }

}  // namespace kiln::cpu::simd
#endif
