#include "kiln/backend/cpu/simd/spatial/pool_image.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/spatial/pool_image.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

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

/// Averages channels, a vector of D at a time, while whole vectors remain. Returns the first channel that remains.
template <class D>
HWY_INLINE std::int64_t average_vectors(D tag, const Taps& taps, const float* image, float* pooled,
                                        std::int64_t channel, std::int64_t channels) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
  for (; channel + lanes <= channels; channel += lanes) {
    auto sum = hn::Zero(tag);
    for (std::int64_t i = taps.z.begin; i < taps.z.end; ++i)
      for (std::int64_t j = taps.y.begin; j < taps.y.end; ++j) {
        const float* from =
            image + i * taps.strides[0] + j * taps.strides[1] + taps.x.begin * taps.strides[2] + channel;
        for (std::int64_t k = taps.x.begin; k < taps.x.end; ++k, from += taps.strides[2])
          sum = hn::Add(sum, hn::LoadU(tag, from));
      }
    hn::StoreU(hn::Div(sum, hn::Set(tag, taps.divisor())), tag, pooled + channel);
  }
  return channel;
}

template <class D>
HWY_INLINE std::int64_t spread_vectors(D tag, const Taps& taps, const float* pooled, float* image, std::int64_t channel,
                                       std::int64_t channels) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
  for (; channel + lanes <= channels; channel += lanes) {
    const auto share = hn::Div(hn::LoadU(tag, pooled + channel), hn::Set(tag, taps.divisor()));
    for (std::int64_t i = taps.z.begin; i < taps.z.end; ++i)
      for (std::int64_t j = taps.y.begin; j < taps.y.end; ++j) {
        float* to = image + i * taps.strides[0] + j * taps.strides[1] + taps.x.begin * taps.strides[2] + channel;
        for (std::int64_t k = taps.x.begin; k < taps.x.end; ++k, to += taps.strides[2])
          hn::StoreU(hn::Add(hn::LoadU(tag, to), share), tag, to);
      }
  }
  return channel;
}

// Full vectors of channels come first, then narrower ones, and single channels last.
void average_last(const ImagePool& pool, const float* image, float* pooled) {
  each_result(pool, [&](const Taps& taps, std::int64_t at) HWY_ATTR {
    std::int64_t channel = average_vectors(hn::ScalableTag<float>(), taps, image, pooled + at, 0, pool.channels);
    channel = average_vectors(hn::CappedTag<float, 8>(), taps, image, pooled + at, channel, pool.channels);
    channel = average_vectors(hn::CappedTag<float, 4>(), taps, image, pooled + at, channel, pool.channels);
    average_vectors(hn::CappedTag<float, 1>(), taps, image, pooled + at, channel, pool.channels);
  });
}

void spread_last(const ImagePool& pool, const float* pooled, float* image) {
  each_result(pool, [&](const Taps& taps, std::int64_t at) HWY_ATTR {
    std::int64_t channel = spread_vectors(hn::ScalableTag<float>(), taps, pooled + at, image, 0, pool.channels);
    channel = spread_vectors(hn::CappedTag<float, 8>(), taps, pooled + at, image, channel, pool.channels);
    channel = spread_vectors(hn::CappedTag<float, 4>(), taps, pooled + at, image, channel, pool.channels);
    spread_vectors(hn::CappedTag<float, 1>(), taps, pooled + at, image, channel, pool.channels);
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

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(average_last);
HWY_EXPORT(spread_last);
HWY_EXPORT(average_rows);
HWY_EXPORT(spread_rows);

void average_channels_last(const ImagePool& pool, const float* image, float* pooled) {
  HWY_DYNAMIC_DISPATCH(average_last)(pool, image, pooled);
}
void spread_channels_last(const ImagePool& pool, const float* pooled, float* image) {
  HWY_DYNAMIC_DISPATCH(spread_last)(pool, pooled, image);
}
void average_plane(const ImagePool& pool, const float* image, float* pooled, float* row) {
  HWY_DYNAMIC_DISPATCH(average_rows)(pool, image, pooled, row);
}
void spread_plane(const ImagePool& pool, const float* pooled, float* image, float* row) {
  HWY_DYNAMIC_DISPATCH(spread_rows)(pool, pooled, image, row);
}

}  // namespace kiln::cpu::simd
#endif
