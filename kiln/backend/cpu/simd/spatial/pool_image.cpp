#include "kiln/backend/cpu/simd/spatial/pool_image.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/spatial/pool_image.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include "kiln/backend/cpu/simd/each_vector.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using Part = ImagePool::Part;

/// The elements of the window of one result.
struct Taps {
  const Part &z, &y, &x;
  const std::array<std::int64_t, 3>& strides;
  float divisor() const { return static_cast<float>(z.divisor * y.divisor * x.divisor); }
};

/// Calls what(taps, offset of the result) for all results.
template <class F>
HWY_INLINE void each_result(const ImagePool& pool, F&& what) {
  for (std::size_t i = 0; i < pool.parts[0].size(); ++i)
    for (std::size_t j = 0; j < pool.parts[1].size(); ++j)
      for (std::size_t k = 0; k < pool.parts[2].size(); ++k)
        what(Taps{pool.parts[0][i], pool.parts[1][j], pool.parts[2][k], pool.image_strides},
             static_cast<std::int64_t>(i) * pool.pooled_strides[0] +
                 static_cast<std::int64_t>(j) * pool.pooled_strides[1] +
                 static_cast<std::int64_t>(k) * pool.pooled_strides[2]);
}

/// Calls what(offset) for the pixels of a window.
template <class F>
HWY_INLINE void each_tap(const Taps& taps, F&& what) {
  for (std::int64_t i = taps.z.begin; i < taps.z.end; ++i)
    for (std::int64_t j = taps.y.begin; j < taps.y.end; ++j) {
      std::int64_t at = i * taps.strides[0] + j * taps.strides[1] + taps.x.begin * taps.strides[2];
      for (std::int64_t k = taps.x.begin; k < taps.x.end; ++k, at += taps.strides[2]) what(at);
    }
}

HWY_FLATTEN void average_last(const ImagePool& pool, const float* image, float* pooled) {
  each_result(pool, [&](const Taps& taps, std::int64_t at) HWY_ATTR {
    each_vector(pool.channels, [&](auto tag, std::int64_t channel, VectorCount<1>) HWY_ATTR {
      auto sum = hn::Zero(tag);
      each_tap(taps, [&](std::int64_t tap) HWY_ATTR { sum = hn::Add(sum, hn::LoadU(tag, image + tap + channel)); });
      hn::StoreU(hn::Div(sum, hn::Set(tag, taps.divisor())), tag, pooled + at + channel);
    });
  });
}

HWY_FLATTEN void spread_last(const ImagePool& pool, const float* pooled, float* image) {
  each_result(pool, [&](const Taps& taps, std::int64_t at) HWY_ATTR {
    each_vector(pool.channels, [&](auto tag, std::int64_t channel, VectorCount<1>) HWY_ATTR {
      const auto share = hn::Div(hn::LoadU(tag, pooled + at + channel), hn::Set(tag, taps.divisor()));
      each_tap(taps, [&](std::int64_t tap) HWY_ATTR {
        float* const to = image + tap + channel;
        hn::StoreU(hn::Add(hn::LoadU(tag, to), share), tag, to);
      });
    });
  });
}

// Planes are pooled in two steps: first the rows of a window are added, a whole row at a time, and then the elements
// along the row. The compiler vectorises add_row().
void add_row(const float* HWY_RESTRICT from, float* HWY_RESTRICT to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
}

void average_rows(const ImagePool& pool, const float* image, float* pooled, float* row) {
  for (std::size_t i = 0; i < pool.parts[0].size(); ++i)
    for (std::size_t j = 0; j < pool.parts[1].size(); ++j) {
      const Part &z = pool.parts[0][i], &y = pool.parts[1][j];
      std::fill_n(row, pool.sizes[2], 0.0f);
      for (std::int64_t a = z.begin; a < z.end; ++a)
        for (std::int64_t b = y.begin; b < y.end; ++b)
          add_row(image + a * pool.image_strides[0] + b * pool.image_strides[1], row, pool.sizes[2]);
      float* to = pooled + static_cast<std::int64_t>(i) * pool.pooled_strides[0] +
                  static_cast<std::int64_t>(j) * pool.pooled_strides[1];
      for (const Part& x : pool.parts[2]) {
        float sum = 0;
        for (std::int64_t k = x.begin; k < x.end; ++k) sum += row[k];
        *to = sum / static_cast<float>(z.divisor * y.divisor * x.divisor);
        to += pool.pooled_strides[2];
      }
    }
}

void spread_rows(const ImagePool& pool, const float* pooled, float* image, float* row) {
  for (std::size_t i = 0; i < pool.parts[0].size(); ++i)
    for (std::size_t j = 0; j < pool.parts[1].size(); ++j) {
      const Part &z = pool.parts[0][i], &y = pool.parts[1][j];
      std::fill_n(row, pool.sizes[2], 0.0f);
      const float* from = pooled + static_cast<std::int64_t>(i) * pool.pooled_strides[0] +
                          static_cast<std::int64_t>(j) * pool.pooled_strides[1];
      for (const Part& x : pool.parts[2]) {
        const float share = *from / static_cast<float>(z.divisor * y.divisor * x.divisor);
        for (std::int64_t k = x.begin; k < x.end; ++k) row[k] += share;
        from += pool.pooled_strides[2];
      }
      for (std::int64_t a = z.begin; a < z.end; ++a)
        for (std::int64_t b = y.begin; b < y.end; ++b)
          add_row(row, image + a * pool.image_strides[0] + b * pool.image_strides[1], pool.sizes[2]);
    }
}

constexpr AverageKernels kAverageKernels{average_last, spread_last, average_rows, spread_rows};
const AverageKernels& find_average_kernels() { return kAverageKernels; }

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(find_average_kernels);
const AverageKernels& average_kernels() { return HWY_DYNAMIC_DISPATCH(find_average_kernels)(); }

}  // namespace kiln::cpu::simd
#endif
