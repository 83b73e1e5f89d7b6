#include "kiln/backend/cpu/conv/winograd_transforms.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/conv/winograd_transforms.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::conv {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using std::int64_t;
using Tag = hn::CappedTag<float, 16>;
using Numbers = hn::Vec<Tag>;

/// Transforms four numbers of x: B^T x.
struct Four {
  Numbers a, b, c, d;
};
HWY_INLINE Four into(Numbers a, Numbers b, Numbers c, Numbers d) {
  return {hn::Sub(a, c), hn::Add(b, c), hn::Sub(c, b), hn::Sub(b, d)};
}
HWY_INLINE void store_four(const Four& x, float* to, int64_t step) {
  const Tag tag;
  hn::StoreU(x.a, tag, to);
  hn::StoreU(x.b, tag, to + step);
  hn::StoreU(x.c, tag, to + 2 * step);
  hn::StoreU(x.d, tag, to + 3 * step);
}

void input(const float* image, int64_t rows, int64_t columns, int64_t channels, int64_t row, int64_t column,
           int64_t tiles, const float* zeros, float* to, int64_t step) {
  const Tag tag;
  for (int64_t tile = 0; tile < tiles; ++tile, column += 2, to += channels) {
    const float* from[4][4];
    for (int64_t i = 0; i < 4; ++i)
      for (int64_t j = 0; j < 4; ++j) {
        const bool inside = row + i >= 0 && row + i < rows && column + j >= 0 && column + j < columns;
        from[i][j] = inside ? image + ((row + i) * columns + column + j) * channels : zeros;
      }
    for (int64_t channel = 0; channel < channels; channel += static_cast<int64_t>(hn::Lanes(tag))) {
      const auto line = [&](int i) HWY_ATTR {
        return into(hn::LoadU(tag, from[i][0] + channel), hn::LoadU(tag, from[i][1] + channel),
                    hn::LoadU(tag, from[i][2] + channel), hn::LoadU(tag, from[i][3] + channel));
      };
      const Four p = line(0), q = line(1), r = line(2), s = line(3);
      const Four a = into(p.a, q.a, r.a, s.a), b = into(p.b, q.b, r.b, s.b), c = into(p.c, q.c, r.c, s.c),
                 d = into(p.d, q.d, r.d, s.d);
      store_four({a.a, b.a, c.a, d.a}, to + channel, step);
      store_four({a.b, b.b, c.b, d.b}, to + channel + 4 * step, step);
      store_four({a.c, b.c, c.c, d.c}, to + channel + 8 * step, step);
      store_four({a.d, b.d, c.d, d.d}, to + channel + 12 * step, step);
    }
  }
}

/// Transforms four products to two results: A^T x.
struct Two {
  Numbers a, b;
};
HWY_INLINE Two out_of(Numbers a, Numbers b, Numbers c, Numbers d) {
  return {hn::Add(hn::Add(a, b), c), hn::Sub(hn::Sub(b, c), d)};
}

void output(const float* from, int64_t step, int64_t channels, int64_t tiles, const float* bias, float* y, int64_t rows,
            int64_t columns, int64_t y_row, int64_t y_pixel) {
  const Tag tag;
  for (int64_t tile = 0; tile < tiles; ++tile, from += channels, y += 2 * y_pixel) {
    const bool second_column = 2 * tile + 1 < columns;
    for (int64_t channel = 0; channel < channels; channel += static_cast<int64_t>(hn::Lanes(tag))) {
      const auto line = [&](int64_t i) HWY_ATTR {
        const float* const at = from + 4 * i * step + channel;
        return out_of(hn::LoadU(tag, at), hn::LoadU(tag, at + step), hn::LoadU(tag, at + 2 * step),
                      hn::LoadU(tag, at + 3 * step));
      };
      const Two p = line(0), q = line(1), r = line(2), s = line(3);
      const Two left = out_of(p.a, q.a, r.a, s.a), right = out_of(p.b, q.b, r.b, s.b);
      const Numbers start = hn::LoadU(tag, bias + channel);
      float* const to = y + channel;
      hn::StoreU(hn::Add(left.a, start), tag, to);
      if (second_column) hn::StoreU(hn::Add(right.a, start), tag, to + y_pixel);
      if (rows < 2) continue;
      hn::StoreU(hn::Add(left.b, start), tag, to + y_row);
      if (second_column) hn::StoreU(hn::Add(right.b, start), tag, to + y_row + y_pixel);
    }
  }
}

/// Transforms three numbers of a weight: G x.
HWY_INLINE Four widened(Numbers a, Numbers b, Numbers c) {
  const Numbers half = hn::Set(Tag(), 0.5f), ends = hn::Mul(hn::Add(a, c), half), middle = hn::Mul(b, half);
  return {a, hn::Add(ends, middle), hn::Sub(ends, middle), c};
}

void weight(const float* from, int64_t tap, int64_t channels, float* to, int64_t step) {
  const Tag tag;
  for (int64_t channel = 0; channel < channels; channel += static_cast<int64_t>(hn::Lanes(tag))) {
    const auto line = [&](int64_t i) HWY_ATTR {
      const float* const at = from + 3 * i * tap + channel;
      return widened(hn::LoadU(tag, at), hn::LoadU(tag, at + tap), hn::LoadU(tag, at + 2 * tap));
    };
    const Four p = line(0), q = line(1), r = line(2);
    const Four a = widened(p.a, q.a, r.a), b = widened(p.b, q.b, r.b), c = widened(p.c, q.c, r.c),
               d = widened(p.d, q.d, r.d);
    store_four({a.a, b.a, c.a, d.a}, to + channel, step);
    store_four({a.b, b.b, c.b, d.b}, to + channel + 4 * step, step);
    store_four({a.c, b.c, c.c, d.c}, to + channel + 8 * step, step);
    store_four({a.d, b.d, c.d, d.d}, to + channel + 12 * step, step);
  }
}

constexpr WinogradTransforms kTransforms{input, output, weight};

}  // namespace

const WinogradTransforms& transforms() { return kTransforms; }

}  // namespace HWY_NAMESPACE
}  // namespace kiln::cpu::conv
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::conv {

HWY_EXPORT(transforms);
const WinogradTransforms& winograd_transforms() { return HWY_DYNAMIC_DISPATCH(transforms)(); }

}  // namespace kiln::cpu::conv
#endif
