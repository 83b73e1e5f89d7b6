#include "kiln/backend/cpu/simd/spatial/max_image.hpp"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/spatial/max_image.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using Part = ImageMax::Part;
constexpr float kLeast = -std::numeric_limits<float>::infinity();

/// Returns the greater element in each lane, and NaN where the new element is NaN. A NaN so far is kept.
template <class D>
HWY_INLINE hn::Vec<D> greatest(D, hn::Vec<D> so_far, hn::Vec<D> element) {
  return hn::IfThenElse(hn::Or(hn::Gt(element, so_far), hn::IsNaN(element)), element, so_far);
}

/// The greatest element so far in every lane.
template <class D>
struct BestValue {
  using Index = hn::RebindToSigned<D>;
  hn::Vec<D> value = hn::Set(D(), kLeast);

  explicit HWY_INLINE BestValue(hn::Vec<Index>) {}
  HWY_INLINE void update(hn::Vec<D> element, hn::Vec<Index>) { value = greatest(D(), value, element); }
  HWY_INLINE void store(MaxResult found, std::int64_t at) const { hn::StoreU(value, D(), found.values + at); }
};

/// The greatest element so far in every lane, and the index of the first such element.
template <class D>
struct Best {
  using Index = hn::RebindToSigned<D>;
  hn::Vec<D> value = hn::Set(D(), kLeast);
  hn::Vec<Index> where;

  explicit HWY_INLINE Best(hn::Vec<Index> first) : where(first) {}
  HWY_INLINE void update(hn::Vec<D> element, hn::Vec<Index> index) {
    const auto better = hn::Or(hn::Gt(element, value), hn::And(hn::IsNaN(element), hn::Eq(value, value)));
    value = hn::IfThenElse(better, element, value);
    where = hn::IfThenElse(hn::RebindMask(Index(), better), index, where);
  }
  HWY_INLINE void store(MaxResult found, std::int64_t at) const {
    hn::StoreU(value, D(), found.values + at);
    HWY_ALIGN std::int32_t places[HWY_MAX_BYTES / sizeof(std::int32_t)];
    hn::StoreU(where, Index(), places);
    for (std::size_t lane = 0; lane < hn::Lanes(D()); ++lane)
      found.indices[at + static_cast<std::int64_t>(lane)] = places[lane];
  }
};

/// The window of one result. index() is the index of an element in the flattened image.
struct Window {
  const ImageMax& pool;
  const Part &z, &y, &x;
  std::int64_t index(std::int64_t i, std::int64_t j, std::int64_t k) const {
    return (i * pool.sizes[1] + j) * pool.sizes[2] + k;
  }
  bool empty() const { return z.begin >= z.end || y.begin >= y.end || x.begin >= x.end; }
  std::int32_t first() const { return empty() ? 0 : static_cast<std::int32_t>(index(z.begin, y.begin, x.begin)); }
};

/// Computes values without indices, for up to four vectors of channels at a time, from `channel` on. Returns the first
/// channel that remains.
template <class D>
HWY_INLINE std::int64_t greatest_values(D tag, const Window& window, const float* image, float* to,
                                        std::int64_t channel) {
  const ImageMax& pool = window.pool;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
  const auto update = [tag](hn::Vec<D>& value, const float* from)
                          HWY_ATTR { value = greatest(tag, value, hn::LoadU(tag, from)); };
  const auto each = [&](auto&& look) HWY_ATTR {
    for (std::int64_t i = window.z.begin; i < window.z.end; i += window.z.step)
      for (std::int64_t j = window.y.begin; j < window.y.end; j += window.y.step) {
        const float* from = image + i * pool.image_strides[0] + j * pool.image_strides[1] +
                            window.x.begin * pool.image_strides[2] + channel;
        for (std::int64_t k = window.x.begin; k < window.x.end; k += window.x.step) {
          look(from);
          from += window.x.step * pool.image_strides[2];
        }
      }
  };
  for (; channel + 4 * lanes <= pool.channels; channel += 4 * lanes) {
    auto a = hn::Set(tag, kLeast), b = a, c = a, d = a;
    each([&](const float* from) HWY_ATTR {
      update(a, from);
      update(b, from + lanes);
      update(c, from + 2 * lanes);
      update(d, from + 3 * lanes);
    });
    hn::StoreU(a, tag, to + channel);
    hn::StoreU(b, tag, to + channel + lanes);
    hn::StoreU(c, tag, to + channel + 2 * lanes);
    hn::StoreU(d, tag, to + channel + 3 * lanes);
  }
  for (; channel + lanes <= pool.channels; channel += lanes) {
    auto value = hn::Set(tag, kLeast);
    each([&](const float* from) HWY_ATTR { update(value, from); });
    hn::StoreU(value, tag, to + channel);
  }
  return channel;
}

template <class D>
HWY_INLINE std::int64_t max_vectors(D tag, const Window& window, const float* image, MaxResult found, std::int64_t at,
                                    std::int64_t channel) {
  if (!found.indices) return greatest_values(tag, window, image, found.values + at, channel);
  const ImageMax& pool = window.pool;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
  const hn::RebindToSigned<D> index_tag;
  for (; channel + lanes <= pool.channels; channel += lanes) {
    Best<D> best(hn::Set(index_tag, window.first()));
    for (std::int64_t i = window.z.begin; i < window.z.end; i += window.z.step)
      for (std::int64_t j = window.y.begin; j < window.y.end; j += window.y.step)
        for (std::int64_t k = window.x.begin; k < window.x.end; k += window.x.step) {
          const float* from =
              image + i * pool.image_strides[0] + j * pool.image_strides[1] + k * pool.image_strides[2] + channel;
          best.update(hn::LoadU(tag, from), hn::Set(index_tag, static_cast<std::int32_t>(window.index(i, j, k))));
        }
    best.store(found, at + channel);
  }
  return channel;
}

// Full vectors of channels come first, then narrower ones, and single channels last.
void max_channels(const ImageMax& pool, const float* image, MaxResult found, std::int64_t begin, std::int64_t end) {
  const auto rows = static_cast<std::int64_t>(pool.parts[1].size());
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t i = row / rows, j = row % rows;
    std::int64_t at = i * pool.pooled_strides[0] + j * pool.pooled_strides[1];
    for (const Part& x : pool.parts[2]) {
      const Window window{pool, pool.parts[0][static_cast<std::size_t>(i)], pool.parts[1][static_cast<std::size_t>(j)],
                          x};
      std::int64_t channel = max_vectors(hn::ScalableTag<float>(), window, image, found, at, 0);
      channel = max_vectors(hn::CappedTag<float, 8>(), window, image, found, at, channel);
      channel = max_vectors(hn::CappedTag<float, 4>(), window, image, found, at, channel);
      max_vectors(hn::CappedTag<float, 1>(), window, image, found, at, channel);
      at += pool.pooled_strides[2];
    }
  }
}

/// Results [begin, end) along a row whose windows have the same size. Each window begins `stride` elements after the
/// one before.
struct Run {
  std::int64_t begin = 0, end = 0, stride = 1;

  explicit Run(std::span<const Part> parts) {
    const auto size = static_cast<std::int64_t>(parts.size());
    const auto part = [&](std::int64_t i) -> const Part& { return parts[static_cast<std::size_t>(i)]; };
    const auto extent = [&](std::int64_t i) { return part(i).end - part(i).begin; };
    // Windows at the borders are smaller: begin with the first whole one.
    while (begin + 1 < size && extent(begin) < extent(begin + 1)) ++begin;
    end = std::min(begin + 1, size);
    if (end < size) stride = part(end).begin - part(begin).begin;
    while (end < size && extent(end) == extent(begin) && part(end).begin - part(end - 1).begin == stride) ++end;
  }
};

/// Loads every `stride`-th element. If `more`, elements after the last wanted one may be read.
template <class D>
HWY_INLINE hn::Vec<D> load_strided(D tag, const float* from, std::int64_t stride, bool more,
                                   hn::Vec<hn::RebindToSigned<D>> offsets) {
  if (stride == 1) return hn::LoadU(tag, from);
  if (stride == 2 && more) {
    hn::Vec<D> even, odd;
    hn::LoadInterleaved2(tag, from, even, odd);
    return even;
  }
  return hn::GatherIndex(tag, from, offsets);
}

/// Computes the results of a run from x on, a vector of D at a time. The last vector overlaps results that are already
/// computed, so that it is full. Returns the first result that remains.
template <template <class> class Best, class D>
HWY_INLINE std::int64_t greatest_of_run(D tag, const Run& run, const ImageMax& pool, const Part& z, const Part& y,
                                        const float* image, MaxResult found, std::int64_t at, std::int64_t x) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
  if (run.end - run.begin < lanes) return x;
  const hn::RebindToSigned<D> index_tag;
  const auto offsets = hn::Mul(hn::Iota(index_tag, 0), hn::Set(index_tag, static_cast<std::int32_t>(run.stride)));
  while (x < run.end) {
    x = std::min(x, run.end - lanes);
    const bool more = x + lanes < run.end;
    const Window window{pool, z, y, pool.parts[2][static_cast<std::size_t>(x)]};
    Best<D> best(hn::Add(offsets, hn::Set(index_tag, window.first())));
    for (std::int64_t i = z.begin; i < z.end; i += z.step)
      for (std::int64_t j = y.begin; j < y.end; j += y.step) {
        const float* row = image + i * pool.image_strides[0] + j * pool.image_strides[1];
        for (std::int64_t k = window.x.begin; k < window.x.end; k += window.x.step)
          best.update(load_strided(tag, row + k, run.stride, more, offsets),
                      hn::Add(offsets, hn::Set(index_tag, static_cast<std::int32_t>(window.index(i, j, k)))));
      }
    best.store(found, at + x);
    x += lanes;
  }
  return x;
}

HWY_INLINE void max_of_window(const Window& window, const float* image, MaxResult found, std::int64_t at) {
  const ImageMax& pool = window.pool;
  float best = kLeast;
  std::int64_t where = window.first();
  for (std::int64_t i = window.z.begin; i < window.z.end; i += window.z.step)
    for (std::int64_t j = window.y.begin; j < window.y.end; j += window.y.step) {
      const float* row = image + i * pool.image_strides[0] + j * pool.image_strides[1];
      for (std::int64_t k = window.x.begin; k < window.x.end; k += window.x.step) {
        if (!(row[k] > best) && (row[k] == row[k] || best != best)) continue;
        best = row[k];
        where = window.index(i, j, k);
      }
    }
  found.values[at] = best;
  if (found.indices) found.indices[at] = where;
}

template <template <class> class Best>
HWY_INLINE void max_of_plane(const Run& run, const ImageMax& pool, const float* image, MaxResult found) {
  const auto columns = static_cast<std::int64_t>(pool.parts[2].size());
  for (std::size_t i = 0; i < pool.parts[0].size(); ++i)
    for (std::size_t j = 0; j < pool.parts[1].size(); ++j) {
      const Part &z = pool.parts[0][i], &y = pool.parts[1][j];
      const std::int64_t at =
          static_cast<std::int64_t>(i) * pool.pooled_strides[0] + static_cast<std::int64_t>(j) * pool.pooled_strides[1];
      std::int64_t x = run.begin;
      x = greatest_of_run<Best>(hn::ScalableTag<float>(), run, pool, z, y, image, found, at, x);
      x = greatest_of_run<Best>(hn::CappedTag<float, 8>(), run, pool, z, y, image, found, at, x);
      x = greatest_of_run<Best>(hn::CappedTag<float, 4>(), run, pool, z, y, image, found, at, x);
      const auto one = [&](std::int64_t k) HWY_ATTR {
        max_of_window({pool, z, y, pool.parts[2][static_cast<std::size_t>(k)]}, image, found, at + k);
      };
      for (std::int64_t k = 0; k < run.begin; ++k) one(k);
      for (std::int64_t k = x; k < columns; ++k) one(k);
    }
}

void max_of_planes(const ImageMax& pool, Planes planes, const float* image, MaxResult found) {
  const Run run(pool.parts[2]);
  for (std::int64_t plane = 0; plane < planes.count; ++plane) {
    if (found.indices) max_of_plane<Best>(run, pool, image, found);
    else max_of_plane<BestValue>(run, pool, image, found);
    image += planes.image_stride;
    found.values += planes.pooled_stride;
    if (found.indices) found.indices += planes.pooled_stride;
  }
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(max_channels);
HWY_EXPORT(max_of_planes);

void max_channels_last(const ImageMax& pool, const float* image, MaxResult found, std::int64_t begin,
                       std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(max_channels)(pool, image, found, begin, end);
}
void max_planes(const ImageMax& pool, Planes planes, const float* image, MaxResult found) {
  HWY_DYNAMIC_DISPATCH(max_of_planes)(pool, planes, image, found);
}

}  // namespace kiln::cpu::simd
#endif
