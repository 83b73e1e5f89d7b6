#include "kiln/backend/cpu/conv/depthwise_plane.hpp"

#include <algorithm>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/conv/depthwise_plane.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::conv {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using std::int64_t;
using D = hn::CappedTag<float, 16>;

/// Gathers the elements of x that are `stride` apart, from column `phase` of its padded rows on.
void spread_row(const PlaneShape::Axis& axis, const float* x, int64_t phase, float* to, int64_t line) {
  if (axis.spacing > 1) {
    const int64_t first = axis.padding >= 0 ? 0 : (-axis.padding + axis.spacing - 1) / axis.spacing;
    for (int64_t i = first; i < axis.size && axis.padding + i * axis.spacing < line; ++i)
      to[axis.padding + i * axis.spacing] = x[i];
    return;
  }
  const int64_t before = std::max<int64_t>(0, axis.padding - phase), first = (before + axis.stride - 1) / axis.stride;
  const float* const from = x + phase - axis.padding;
  const int64_t end = std::min(line, (axis.size + axis.padding - phase + axis.stride - 1) / axis.stride);
  int64_t i = first;
  if (axis.stride == 1 && first < end) {
    std::copy(from + first, from + end, to + first);
    return;
  }
  if (axis.stride == 2) {
    const D d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    hn::Vec<D> even, odd;
    for (; i + lanes < end; i += lanes) {
      hn::LoadInterleaved2(d, from + 2 * i, even, odd);
      hn::StoreU(even, d, to + i);
    }
    // The last vector ends at the last element, after which nothing may be read.
    if (i > first && i < end) {
      i = end - lanes;
      hn::LoadInterleaved2(d, from + 2 * i - 1, even, odd);
      hn::StoreU(odd, d, to + i);
      return;
    }
  }
  for (; i < end; ++i) to[i] = from[i * axis.stride];
}

/// The vectors of a row; the last may be partial.
template <std::size_t... V>
HWY_INLINE void some_columns(const PlaneShape& s, const float* room, const float* weight, int64_t first, int64_t last,
                             float* y, int64_t columns, std::index_sequence<V...>) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t line = s.line(), row = s.across.stride * line;
  hn::Vec<D> sums[] = {((void)V, hn::Zero(d))...};
  for (int64_t k = first; k < last; ++k, room += s.down.dilation * row)
    for (int64_t c = 0; c < s.across.kernel; ++c) {
      const int64_t at = c * s.across.dilation;
      const float* const from = room + at % s.across.stride * line + at / s.across.stride;
      const auto factor = hn::Set(d, weight[k * s.across.kernel + c]);
      ((sums[V] = hn::MulAdd(factor, hn::LoadU(d, from + static_cast<int64_t>(V) * lanes), sums[V])), ...);
    }
  constexpr auto kLast = static_cast<int64_t>(sizeof...(V)) - 1;
  ((static_cast<int64_t>(V) < kLast ? hn::StoreU(sums[V], d, y + static_cast<int64_t>(V) * lanes) : void()), ...);
  hn::BlendedStore(sums[kLast], hn::FirstN(d, static_cast<std::size_t>(std::min(lanes, columns - kLast * lanes))), d,
                   y + kLast * lanes);
}

void spread(const PlaneShape& s, const float* x, float* room) {
  const int64_t line = s.line(), row = s.across.stride * line;
  for (int64_t i = 0; i < s.down.size; ++i)
    for (int64_t phase = 0; phase < s.across.stride; ++phase)
      spread_row(s.across, x + i * s.across.size, phase, room + i * s.down.spacing * row + phase * line, line);
}

/// Rows [first, last) of the kernel overlap x for row `i` of y; the first of them is on row `top` of x.
struct Under {
  int64_t first, last, top;
  Under(const PlaneShape::Axis& down, int64_t i) {
    const int64_t start = i * down.stride - down.padding, step = down.dilation;
    first = start >= 0 ? 0 : (-start + step - 1) / step;
    last = std::min(down.kernel, (down.extent() - start + step - 1) / step);
    top = start + first * step;
  }
};

void plane(const PlaneShape& s, const float* x, const float* weight, float* room, float* y) {
  spread(s, x, room);
  const int64_t row = s.across.stride * s.line();
  const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
  for (int64_t i = 0; i < s.down.result; ++i, y += s.across.result) {
    const Under kernel(s.down, i);
    const float* const under = room + kernel.top * row;
    for (int64_t j = 0; j < s.across.result;) {
      const int64_t left = s.across.result - j, vectors = std::min<int64_t>(4, (left + lanes - 1) / lanes);
      const auto run = [&]<std::size_t Vectors>(std::integral_constant<std::size_t, Vectors>) {
        some_columns(s, under + j, weight, kernel.first, kernel.last, y + j, left, std::make_index_sequence<Vectors>());
      };
      if (vectors == 4) run(std::integral_constant<std::size_t, 4>());
      else if (vectors == 3) run(std::integral_constant<std::size_t, 3>());
      else if (vectors == 2) run(std::integral_constant<std::size_t, 2>());
      else run(std::integral_constant<std::size_t, 1>());
      j += vectors * lanes;
    }
  }
}

/// Adds the sum of products of `count` numbers to `sums`, in alternation.
HWY_INLINE void add_products(const float* a, const float* b, int64_t count, hn::Vec<D> (&sums)[2]) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t j = 0;
  for (; j + 2 * lanes <= count; j += 2 * lanes) {
    sums[0] = hn::MulAdd(hn::LoadU(d, a + j), hn::LoadU(d, b + j), sums[0]);
    sums[1] = hn::MulAdd(hn::LoadU(d, a + j + lanes), hn::LoadU(d, b + j + lanes), sums[1]);
  }
  for (; j < count; j += lanes) {
    // Both are masked, since the other lanes may be infinite.
    const auto mask = hn::FirstN(d, static_cast<std::size_t>(std::min(lanes, count - j)));
    sums[0] = hn::MulAdd(hn::MaskedLoad(mask, d, a + j), hn::MaskedLoad(mask, d, b + j), sums[0]);
  }
}

void plane_weight(const PlaneShape& s, const float* x, const float* y, float* room, float* weight) {
  spread(s, x, room);
  const D d;
  const int64_t line = s.line(), row = s.across.stride * line;
  for (int64_t k = 0; k < s.down.kernel; ++k)
    for (int64_t c = 0; c < s.across.kernel; ++c) {
      const int64_t at = c * s.across.dilation, across = at % s.across.stride * line + at / s.across.stride;
      hn::Vec<D> sums[2] = {hn::Zero(d), hn::Zero(d)};
      for (int64_t i = 0; i < s.down.result; ++i) {
        const int64_t on = i * s.down.stride - s.down.padding + k * s.down.dilation;
        if (on >= 0 && on < s.down.size)
          add_products(y + i * s.across.result, room + on * row + across, s.across.result, sums);
      }
      weight[k * s.across.kernel + c] += hn::GetLane(hn::SumOfLanes(d, hn::Add(sums[0], sums[1])));
    }
}

constexpr PlaneKernels kPlane{plane, plane_weight};

}  // namespace

const PlaneKernels& find_plane() { return kPlane; }

}  // namespace HWY_NAMESPACE
}  // namespace kiln::cpu::conv
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::conv {

HWY_EXPORT(find_plane);
const PlaneKernels& plane_kernels() { return HWY_DYNAMIC_DISPATCH(find_plane)(); }

}  // namespace kiln::cpu::conv
#endif
