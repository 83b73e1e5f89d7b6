#include "kiln/backend/cpu/conv/direct_image.hpp"

#include <algorithm>
#include <array>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/conv/direct_image.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::conv {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using std::int64_t;

// The sums below are kept in registers: 32 with AVX-512, otherwise 16. V8 has 15 for WebAssembly, and too few others for the
// addresses of many pixels: there a block has few pixels, of twice as many channels.
constexpr int kMostPixels = HWY_ARCH_WASM ? 4 : 14;             // bench: suite mnist_guide_*
constexpr std::size_t kVectorsOfPixel = HWY_ARCH_WASM ? 2 : 1;  // bench: wasm guide_1
constexpr int kMostTaps = HWY_MAX_BYTES >= 64 ? 24 : 12;
constexpr int kMostTapsOfThreeRows = kMostTaps / 3;

/// The rows [begin, end) of y for which kernel row `k` is inside x.
struct RowRange {
  int64_t begin, end;
};
RowRange rows_of(const DirectShape& s, int64_t k) {
  const int64_t shift = s.row_padding - k * s.row_dilation;  // row * stride - shift is in [0, x_rows)
  const int64_t begin = shift <= 0 ? 0 : (shift + s.row_stride - 1) / s.row_stride;
  const int64_t last = s.x_rows - 1 + shift;
  return {begin, last < 0 ? 0 : std::min(s.rows, last / s.row_stride + 1)};
}

/// Clamps to [low, high]. NaN stays NaN, because min and max of x86 and WebAssembly return the second operand if either is NaN.
template <class V>
HWY_INLINE V within(V x, V low, V high) {
  if constexpr ((HWY_ARCH_X86 || HWY_ARCH_WASM) && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128)
    return hn::Min(high, hn::Max(low, x));
  const V raised = hn::IfThenElse(hn::Gt(x, low), x, low), lowered = hn::IfThenElse(hn::Lt(raised, high), raised, high);
  return hn::IfThenElse(hn::IsNaN(x), x, lowered);
}

/// Computes pixels of a row, each in C... vectors of channels. Sum I is of pixel I / C... and vector I % C....
template <class D, std::size_t... C, std::size_t... I>
HWY_INLINE void forward_pixels(D d, const DirectShape& s, const float* x, const float* weight, const float* bias,
                               float* y, const SimpleEpilogue* finish, int64_t first, int64_t last, int64_t lanes,
                               std::index_sequence<C...>, std::index_sequence<I...>) {
  using V = hn::Vec<D>;
  constexpr std::size_t kVectors = sizeof...(C);
  const auto width = static_cast<int64_t>(hn::Lanes(d));
  const auto pixel = [](std::size_t i) { return static_cast<int64_t>(i / kVectors); };
  const auto channel = [&](std::size_t i) { return static_cast<int64_t>(i % kVectors) * width; };
  V sum[] = {hn::LoadU(d, bias + channel(I))...};
  for (int64_t k = first; k < last; ++k) {
    const float* taps = x + (k - first) * s.row_dilation * s.x_row;
    const float* w = weight + k * s.taps * s.out_padded;
    for (int64_t t = 0; t < s.taps; ++t, w += s.out_padded, ++taps) {
      const V column[] = {hn::LoadU(d, w + channel(C))...};
      ((sum[I] = hn::MulAdd(column[I % kVectors], hn::Set(d, taps[pixel(I) * s.step]), sum[I])), ...);
    }
  }
  const auto place = [&](float* from, std::size_t i) { return from + pixel(i) * s.out + channel(i); };
  const auto some = hn::FirstN(d, static_cast<std::size_t>(std::min(lanes, width)));
  if (finish && finish->more) {
    const float* const more = finish->more + (y - finish->to);
    ((sum[I] = hn::Add(sum[I], hn::MaskedLoad(some, d, more + pixel(I) * s.out + channel(I)))), ...);
  }
  if (finish && finish->has_bounds()) {
    const V low = hn::Set(d, finish->low), high = hn::Set(d, finish->high);
    ((sum[I] = within(sum[I], low, high)), ...);
  }
  if (lanes >= width) (hn::StoreU(sum[I], d, place(y, I)), ...);
  else (hn::BlendedStore(sum[I], some, d, place(y, I)), ...);
}

template <class D>
using ForwardPixels = void (*)(D, const DirectShape&, const float*, const float*, const float*, float*,
                               const SimpleEpilogue*, int64_t, int64_t, int64_t);
template <class D, std::size_t Pixels>
void forward_block(D d, const DirectShape& s, const float* x, const float* weight, const float* bias, float* y,
                   const SimpleEpilogue* finish, int64_t first, int64_t last, int64_t lanes) {
  forward_pixels(d, s, x, weight, bias, y, finish, first, last, lanes, std::make_index_sequence<kVectorsOfPixel>(),
                 std::make_index_sequence<(Pixels + 1) * kVectorsOfPixel>());
}
template <class D, std::size_t... I>
constexpr std::array<ForwardPixels<D>, sizeof...(I)> forward_table(std::index_sequence<I...>) {
  return {&forward_block<D, I>...};
}

/// Computes channels [begin, end) of y, which are a multiple of 8: so two vectors of 4 are always whole.
template <class D>
void forward(D d, const DirectShape& s, const float* x, const float* weight, const float* bias, float* y,
             const SimpleEpilogue* finish, int64_t begin, int64_t end) {
  static constexpr auto kTable = forward_table<D>(std::make_index_sequence<kMostPixels>());
  const int64_t blocks = (s.columns + kMostPixels - 1) / kMostPixels, pixels = (s.columns + blocks - 1) / blocks;
  const auto block = kTable[static_cast<std::size_t>(pixels - 1)];
  const auto lanes = static_cast<int64_t>(hn::Lanes(d) * kVectorsOfPixel);
  for (int64_t row = 0; row < s.rows; ++row) {
    const int64_t top = row * s.row_stride - s.row_padding;
    const int64_t first = top >= 0 ? 0 : (-top + s.row_dilation - 1) / s.row_dilation;
    const int64_t last = std::min(s.kernel_rows, (s.x_rows - top + s.row_dilation - 1) / s.row_dilation);
    const float* x_row = x + (top + first * s.row_dilation) * s.x_row;
    for (int64_t channel = begin; channel < end; channel += lanes)
      for (int64_t next = 0; next < s.columns; next += pixels) {
        const int64_t column = std::min(next, s.columns - pixels);  // the last block overlaps the previous one
        block(d, s, x_row + column * s.step, weight + channel, bias + channel,
              y + (row * s.columns + column) * s.out + channel, finish, first, last, end - channel);
      }
  }
}

/// Adds `Rows` kernel rows, from row k on, with T taps each, to the sums over rows [range) of y.
template <int Rows, class D, std::size_t... I>
HWY_INLINE void weight_taps(D d, const DirectShape& s, const float* x, const float* y, float* sums, int64_t k,
                            RowRange range, int64_t lanes, std::index_sequence<I...>) {
  using V = hn::Vec<D>;
  constexpr std::size_t kTaps = sizeof...(I) / Rows;
  const auto place = [&](std::size_t i) {
    return sums + (static_cast<int64_t>(i / kTaps) * s.taps + static_cast<int64_t>(i % kTaps)) * s.out_padded;
  };
  const auto some = hn::FirstN(d, static_cast<std::size_t>(std::min(lanes, static_cast<int64_t>(hn::Lanes(d)))));
  const int64_t between = s.row_dilation * s.x_row;
  V sum[] = {hn::LoadU(d, place(I))...};
  for (int64_t row = range.begin; row < range.end; ++row) {
    const float* taps = x + (row * s.row_stride - s.row_padding + k * s.row_dilation) * s.x_row;
    const float* gradient = y + row * s.columns * s.out;
    for (int64_t column = 0; column < s.columns; ++column, taps += s.step, gradient += s.out) {
      const V g = hn::MaskedLoad(some, d, gradient);
      ((sum[I] = hn::MulAdd(
            g, hn::Set(d, taps[static_cast<int64_t>(I / kTaps) * between + static_cast<int64_t>(I % kTaps)]), sum[I])),
       ...);
    }
  }
  (hn::StoreU(sum[I], d, place(I)), ...);
}

template <class D>
using WeightTaps = void (*)(D, const DirectShape&, const float*, const float*, float*, int64_t, RowRange, int64_t);
template <class D, int Rows, std::size_t Taps>
void weight_block(D d, const DirectShape& s, const float* x, const float* y, float* sums, int64_t k, RowRange range,
                  int64_t lanes) {
  weight_taps<Rows>(d, s, x, y, sums, k, range, lanes, std::make_index_sequence<Rows*(Taps + 1)>());
}
template <class D, int Rows, std::size_t... I>
constexpr std::array<WeightTaps<D>, sizeof...(I)> weight_table(std::index_sequence<I...>) {
  return {&weight_block<D, Rows, I>...};
}

template <class D>
void weight(D d, const DirectShape& s, const float* x, const float* y, float* sums) {
  static constexpr auto kOneRow = weight_table<D, 1>(std::make_index_sequence<kMostTaps>());
  static constexpr auto kThreeRows = weight_table<D, 3>(std::make_index_sequence<kMostTapsOfThreeRows>());
  const int64_t blocks = (s.taps + kMostTaps - 1) / kMostTaps, some = (s.taps + blocks - 1) / blocks;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t channel = 0; channel < s.out; channel += lanes) {
    const auto one = [&](int64_t k, RowRange range) {
      if (range.begin >= range.end) return;
      for (int64_t t = 0; t < s.taps; t += some)
        kOneRow[static_cast<std::size_t>(std::min(some, s.taps - t) - 1)](
            d, s, x + t, y + channel, sums + (k * s.taps + t) * s.out_padded + channel, k, range, s.out - channel);
    };
    for (int64_t k = 0; k < s.kernel_rows;) {
      const RowRange first = rows_of(s, k);
      const bool three = s.taps <= kMostTapsOfThreeRows && k + 3 <= s.kernel_rows;
      const RowRange common = three ? RowRange{first.begin, rows_of(s, k + 2).end} : RowRange{0, 0};
      if (!three || common.begin >= common.end) {
        one(k++, first);
        continue;
      }
      kThreeRows[static_cast<std::size_t>(s.taps - 1)](d, s, x, y + channel, sums + k * s.taps * s.out_padded + channel,
                                                       k, common, s.out - channel);
      for (int64_t i = 0; i < 3; ++i, ++k) {  // the rows of y that only some of the three kernel rows reach
        one(k, {rows_of(s, k).begin, common.begin});
        one(k, {common.end, rows_of(s, k).end});
      }
    }
  }
}

void forward_any(const DirectShape& s, const float* x, const float* w, const float* bias, float* y,
                 const SimpleEpilogue* finish) {
  // The last eight channels do not fill a long vector.
  const int64_t whole = s.out % 16 == 8 ? s.out - 8 : s.out;
  if (whole > 0) forward(hn::CappedTag<float, 16>(), s, x, w, bias, y, finish, 0, whole);
  if (whole < s.out) forward(hn::CappedTag<float, 8>(), s, x, w, bias, y, finish, whole, s.out);
}

void weight_any(const DirectShape& s, const float* x, const float* y, float* sums) {
  if (s.out <= 8) weight(hn::CappedTag<float, 8>(), s, x, y, sums);
  else weight(hn::CappedTag<float, 16>(), s, x, y, sums);
}

constexpr DirectKernels kDirect{forward_any, weight_any};

}  // namespace

const DirectKernels& find_direct() { return kDirect; }

}  // namespace HWY_NAMESPACE
}  // namespace kiln::cpu::conv
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::conv {

HWY_EXPORT(find_direct);
const DirectKernels& direct_kernels() { return HWY_DYNAMIC_DISPATCH(find_direct)(); }

}  // namespace kiln::cpu::conv
#endif
