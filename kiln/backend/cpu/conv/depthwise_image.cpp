#include "kiln/backend/cpu/conv/depthwise_image.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/conv/depthwise_image.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include <hwy/cache_control.h>

#include "kiln/backend/cpu/simd/vector.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::conv {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using simd::HWY_NAMESPACE::Vector;
using std::int64_t;
using Tag = Vector<float>::Tag;
using V = hn::Vec<Tag>;

/// One vector of channels. Lanes after the last channel are zeros and are not stored.
struct Channels {
  explicit Channels(int64_t count) : all(count >= static_cast<int64_t>(hn::Lanes(Tag()))) {
    some = hn::FirstN(Tag(), static_cast<std::size_t>(std::max<int64_t>(0, count)));
  }
  HWY_INLINE V load(const float* from) const {
    return all ? hn::LoadU(Tag(), from) : hn::MaskedLoad(some, Tag(), from);
  }
  HWY_INLINE void store(V x, float* to) const {
    if (all) hn::StoreU(x, Tag(), to);
    else hn::BlendedStore(x, some, Tag(), to);
  }
  bool all;
  hn::Mask<Tag> some;
};

/// The taps [begin, end) of the kernel along an axis that overlap x for element `at` of y.
struct TapOffsets {
  int64_t begin, end, first;  // `first`: the element of x under tap 0
  TapOffsets(const DepthwiseShape& s, std::size_t axis, int64_t at) : first(at * s.stride[axis] - s.padding[axis]) {
    begin = first >= 0 ? 0 : (-first + s.dilation[axis] - 1) / s.dilation[axis];
    const int64_t left = s.sizes[axis] - first;
    end = left <= 0 ? 0 : std::min(s.kernel[axis], (left + s.dilation[axis] - 1) / s.dilation[axis]);
  }
};

/// A row of the kernel that overlaps x: the start of that row of x, and of the weight's row.
struct KernelRow {
  int64_t x, weight;
};
std::vector<KernelRow> kernel_rows(const DepthwiseShape& s, int64_t z, int64_t row) {
  std::vector<KernelRow> result;
  const TapOffsets planes(s, 0, z), rows(s, 1, row);
  for (int64_t a = planes.begin; a < planes.end; ++a)
    for (int64_t b = rows.begin; b < rows.end; ++b) {
      const int64_t plane = planes.first + a * s.dilation[0], line = rows.first + b * s.dilation[1];
      result.push_back(
          {(plane * s.sizes[1] + line) * s.sizes[2] * s.channels, (a * s.kernel[1] + b) * s.kernel[2] * s.channels});
    }
  return result;
}

/// The rows of x to prefetch.
struct Ahead {
  const float* x;
  int64_t rows;
};
/// Returns the rows that the next row of y is the first to read.
Ahead rows_ahead(const DepthwiseShape& s, const float* x, int64_t z, int64_t row) {
  constexpr int64_t kNear = 1 << 17;  // numbers of an image that are still in the second-level cache
  const int64_t plane = z * s.stride[0] - s.padding[0],
                first = row * s.stride[1] - s.padding[1] + (s.kernel[1] - 1) * s.dilation[1] + 1,
                last = std::min(s.sizes[1], first + s.stride[1]);
  if (s.sizes[0] * s.sizes[1] * s.sizes[2] * s.channels <= kNear || plane < 0 || plane >= s.sizes[0] || first < 0 ||
      first >= last)
    return {x, 0};
  return {x + (plane * s.sizes[1] + first) * s.sizes[2] * s.channels, last - first};
}

/// A kernel row of so many columns, stride 1 and dilation 1, over pixels that see the whole kernel row: column J of x
/// is read once, for each of the sums P that use it.
template <std::size_t Columns>
struct KernelLine {
  template <std::size_t J, std::size_t P>
  static HWY_INLINE void add(V x, const V (&weight)[Columns], V& sum) {
    if constexpr (J >= P && J - P < Columns) sum = hn::MulAdd(weight[J - P], x, sum);
  }
  template <std::size_t J, std::size_t... P>
  static HWY_INLINE void add_column(V x, const V (&weight)[Columns], V* sums, std::index_sequence<P...>) {
    (add<J, P>(x, weight, sums[P]), ...);
  }
  template <std::size_t... K, std::size_t... J, std::size_t... P>
  static HWY_INLINE void add_all(const Channels& channels, const float* x, const float* weight, int64_t step, V* sums,
                                 std::index_sequence<K...>, std::index_sequence<J...>, std::index_sequence<P...> p) {
    const V factors[] = {channels.load(weight + static_cast<int64_t>(K) * step)...};
    (add_column<J>(channels.load(x + static_cast<int64_t>(J) * step), factors, sums, p), ...);
  }
  /// Loads numbers of pixels, and of columns of the kernel, `step` apart.
  template <std::size_t... P>
  static HWY_INLINE void run(const Channels& channels, const float* x, const float* weight, int64_t step, V* sums,
                             std::index_sequence<P...> p) {
    add_all(channels, x, weight, step, sums, std::make_index_sequence<Columns>(),
            std::make_index_sequence<sizeof...(P) - 1 + Columns>(), p);
  }
};

/// Computes neighbouring pixels of y from `column` on that see the same taps [begin, end) of the kernel's columns. If
/// `Columns` is not 0, they see all taps of a KernelLine.
template <std::size_t Columns, std::size_t... P>
HWY_INLINE void pixels(const DepthwiseShape& s, const float* x, const float* weight, const float* bias, float* y,
                       const SimpleEpilogue* finish, std::span<const KernelRow> rows, const Ahead& ahead,
                       int64_t column, int64_t begin, int64_t end, std::index_sequence<P...>) {
  const int64_t first = column * s.stride[2] - s.padding[2], lanes = static_cast<int64_t>(hn::Lanes(Tag())),
                step = s.stride[2] * s.channels;
  y += column * s.channels;
  const float* const more = finish && finish->more ? finish->more + (y - finish->to) : nullptr;
  for (int64_t c = 0; c < s.channels; c += lanes) {
    const Channels channels(s.channels - c);
    V sum[] = {((void)P, channels.load(bias + c))...};
    for (const KernelRow& row : rows) {
      if constexpr (Columns > 0) {
        KernelLine<Columns>::run(channels, x + row.x + first * s.channels + c, weight + row.weight + c, s.channels, sum,
                                 std::index_sequence<P...>());
        continue;
      }
      for (int64_t k = begin; k < end; ++k) {
        const V w = channels.load(weight + row.weight + k * s.channels + c);
        const float* const from = x + row.x + (first + k * s.dilation[2]) * s.channels + c;
        ((sum[P] = hn::MulAdd(w, channels.load(from + static_cast<int64_t>(P) * step), sum[P])), ...);
      }
    }
    // Prefetches what the next row of y is the first to read of x: it may be in a far cache, and in too many streams
    // for the processor to predict.
    (hwy::Prefetch(y + static_cast<int64_t>(P + sizeof...(P)) * s.channels + c), ...);
    for (int64_t i = 0; i < ahead.rows; ++i)
      for (int64_t pixel = 0; pixel < static_cast<int64_t>(sizeof...(P)) * s.stride[2]; ++pixel)
        hwy::Prefetch(ahead.x + i * s.sizes[2] * s.channels + (column * s.stride[2] + pixel) * s.channels + c);
    if (more) ((sum[P] = hn::Add(sum[P], channels.load(more + static_cast<int64_t>(P) * s.channels + c))), ...);
    if (finish && finish->has_bounds()) {
      const Vector<float> low(finish->low), high(finish->high);
      ((sum[P] = clamp(Vector<float>(sum[P]), low, high).lanes), ...);
    }
    (channels.store(sum[P], y + static_cast<int64_t>(P) * s.channels + c), ...);
  }
}

using Pixels = void (*)(const DepthwiseShape&, const float*, const float*, const float*, float*, const SimpleEpilogue*,
                        std::span<const KernelRow>, const Ahead&, int64_t, int64_t, int64_t);
template <std::size_t Columns, std::size_t Count>
void some_pixels(const DepthwiseShape& s, const float* x, const float* weight, const float* bias, float* y,
                 const SimpleEpilogue* finish, std::span<const KernelRow> rows, const Ahead& ahead, int64_t column,
                 int64_t begin, int64_t end) {
  pixels<Columns>(s, x, weight, bias, y, finish, rows, ahead, column, begin, end,
                  std::make_index_sequence<Count + 1>());
}
constexpr std::size_t kMostPixels = 8;
/// Dispatches by the number of pixels minus 1.
using PixelsByCount = std::array<Pixels, kMostPixels>;
template <std::size_t Columns, std::size_t... I>
constexpr PixelsByCount pixels_by_count(std::index_sequence<I...>) {
  return {&some_pixels<Columns, I>...};
}
template <std::size_t Columns>
constexpr PixelsByCount kPixels = pixels_by_count<Columns>(std::make_index_sequence<kMostPixels>());

/// Computes pixels that see the whole kernel. With a stride of 2, pixels share too little for a separate line kernel to
/// be faster.
const PixelsByCount& whole_pixels(const DepthwiseShape& s) {
  return s.kernel[2] == 3 && s.stride[2] == 1 && s.dilation[2] == 1 ? kPixels<3> : kPixels<0>;
}

void row_of(const DepthwiseShape& s, const float* x, const float* weight, const float* bias, float* y,
            const SimpleEpilogue* finish, int64_t z, int64_t row) {
  constexpr auto kMost = static_cast<int64_t>(kMostPixels);
  const std::vector<KernelRow> rows = kernel_rows(s, z, row);
  y += (z * s.result[1] + row) * s.result[2] * s.channels;
  const Ahead ahead = rows_ahead(s, x, z, row);
  // Columns [left, right) see the whole kernel.
  const auto sees_all = [&](int64_t column) {
    const TapOffsets places(s, 2, column);
    return places.begin == 0 && places.end == s.kernel[2];
  };
  int64_t left = 0, right = s.result[2];
  while (left < right && !sees_all(left)) ++left;
  while (right > left && !sees_all(right - 1)) --right;
  for (int64_t column = 0; column < s.result[2];) {
    const bool whole = left <= column && column < right;
    const TapOffsets places(s, 2, column);
    int64_t some = 1;
    if (whole) {
      const int64_t count = right - column, blocks = (count + kMost - 1) / kMost;
      some = (count + blocks - 1) / blocks;
    }
    const PixelsByCount& pixels = whole ? whole_pixels(s) : kPixels<0>;
    pixels[static_cast<std::size_t>(some - 1)](s, x, weight, bias, y, finish, rows, ahead, column, places.begin,
                                               places.end);
    column += some;
  }
}

void weight_row_of(const DepthwiseShape& s, const float* x, const float* y, float* sums, int64_t z, int64_t row) {
  constexpr int64_t kNear = 4096;  // numbers of y that stay in the first-level cache while all taps use them
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Tag())), some = std::max<int64_t>(8, kNear / s.channels);
  const int64_t step = s.stride[2] * s.channels;
  const std::vector<KernelRow> rows = kernel_rows(s, z, row);
  y += (z * s.result[1] + row) * s.result[2] * s.channels;
  for (int64_t column = 0; column < s.result[2]; column += some) {
    const int64_t stop = std::min(s.result[2], column + some);
    for (int64_t c = 0; c < s.channels; c += lanes) {
      const Channels channels(s.channels - c);
      for (const KernelRow& row_of_kernel : rows)
        for (int64_t k = 0; k < s.kernel[2]; ++k) {
          const int64_t shift = s.padding[2] - k * s.dilation[2];  // column * stride - shift is a column of x
          const int64_t first = shift <= 0 ? 0 : (shift + s.stride[2] - 1) / s.stride[2];
          const int64_t last = s.sizes[2] - 1 + shift;
          const int64_t end = last < 0 ? 0 : std::min(stop, last / s.stride[2] + 1);
          int64_t at = std::max(column, first);
          if (at >= end) continue;
          const float *from = x + row_of_kernel.x + at * step - shift * s.channels + c,
                      *gradient = y + at * s.channels + c;
          float* const target = sums + row_of_kernel.weight + k * s.channels + c;
          V a = channels.load(target), b = hn::Zero(Tag()), d = b, e = b;
          for (; at + 4 <= end; at += 4, from += 4 * step, gradient += 4 * s.channels) {
            a = hn::MulAdd(channels.load(from), channels.load(gradient), a);
            b = hn::MulAdd(channels.load(from + step), channels.load(gradient + s.channels), b);
            d = hn::MulAdd(channels.load(from + 2 * step), channels.load(gradient + 2 * s.channels), d);
            e = hn::MulAdd(channels.load(from + 3 * step), channels.load(gradient + 3 * s.channels), e);
          }
          for (; at < end; ++at, from += step, gradient += s.channels)
            a = hn::MulAdd(channels.load(from), channels.load(gradient), a);
          channels.store(hn::Add(hn::Add(a, b), hn::Add(d, e)), target);
        }
    }
  }
}

constexpr DepthwiseKernels kDepthwise{row_of, weight_row_of};

}  // namespace

const DepthwiseKernels& find_depthwise() { return kDepthwise; }

}  // namespace HWY_NAMESPACE
}  // namespace kiln::cpu::conv
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::conv {

HWY_EXPORT(find_depthwise);
const DepthwiseKernels& depthwise_kernels() { return HWY_DYNAMIC_DISPATCH(find_depthwise)(); }

}  // namespace kiln::cpu::conv
#endif
