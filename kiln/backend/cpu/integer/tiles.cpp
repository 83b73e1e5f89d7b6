#include "kiln/backend/cpu/integer/tiles.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "kiln/backend/cpu/algorithm.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/integer/tiles.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::integer::HWY_NAMESPACE {
namespace {

using std::int64_t;

#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
namespace hn = hwy::HWY_NAMESPACE;
using Words = hn::ScalableTag<std::int32_t>;
using Shorts = hn::Repartition<std::int16_t, Words>;
constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(Words()));
constexpr std::size_t kMostRows = HWY_MAX_BYTES >= 64 ? 8 : 4, kMostVectors = 2;

/// Multiplies even and odd bytes as numbers of 16 bits, whose products are added in pairs. I counts the sums, V the
/// vectors of a row.
template <std::size_t Rows, std::size_t... I, std::size_t... V>
HWY_INLINE void tile(const Block& block, int64_t column, std::index_sequence<I...>, std::index_sequence<V...>) {
  constexpr std::size_t kVectors = sizeof...(V);
  const Words words;
  const Shorts shorts;
  using Sum = hn::Vec<Words>;
  Sum sums[] = {((void)I, hn::Zero(words))...};
  Sum unused = hn::Zero(words);
  const std::int8_t* const right[] = {block.right +
                                      (column + static_cast<int64_t>(V) * kLanes) / kPanel * block.panel_step +
                                      (column + static_cast<int64_t>(V) * kLanes) % kPanel * kQuad...};
  for (int64_t k = 0; k < block.depth; k += kQuad) {
    const auto load = [&](std::size_t v) HWY_ATTR {
      return hn::BitCast(shorts, hn::LoadU(words, reinterpret_cast<const std::int32_t*>(right[v] + k * kPanel)));
    };
    const hn::Vec<Shorts> even[] = {hn::ShiftRight<8>(hn::ShiftLeft<8>(load(V)))...},
                          odd[] = {hn::ShiftRight<8>(load(V))...};
    std::uint32_t quads[Rows];
    for (std::size_t i = 0; i < Rows; ++i)
      std::memcpy(quads + i, block.left + static_cast<int64_t>(i) * block.step + k, 4);
    const auto spread = [&](std::uint32_t pair)
                            HWY_ATTR { return hn::BitCast(shorts, hn::Set(words, static_cast<std::int32_t>(pair))); };
    ((sums[I] = hn::ReorderWidenMulAccumulate(words, spread(quads[I / kVectors] & 0x00ff00ffu), even[I % kVectors],
                                              sums[I], unused)),
     ...);
    ((sums[I] = hn::ReorderWidenMulAccumulate(words, spread(quads[I / kVectors] >> 8 & 0x00ff00ffu), odd[I % kVectors],
                                              sums[I], unused)),
     ...);
  }
  (hn::StoreU(sums[I], words,
              block.sums + static_cast<int64_t>(I / kVectors) * block.row + column +
                  static_cast<int64_t>(I % kVectors) * kLanes),
   ...);
}

template <std::size_t Rows>
void some_rows(const Block& block, int64_t columns) {
  constexpr auto kStep = static_cast<int64_t>(kMostVectors) * kLanes;
  int64_t column = 0;
  for (; column + kStep <= columns; column += kStep)
    tile<Rows>(block, column, std::make_index_sequence<Rows * kMostVectors>(),
               std::make_index_sequence<kMostVectors>());
  for (; column < columns; column += kLanes)
    tile<Rows>(block, column, std::make_index_sequence<Rows>(), std::make_index_sequence<1>());
}
#else
constexpr std::size_t kMostRows = 1;
template <std::size_t>
void some_rows(const Block& block, int64_t columns) {
  for (int64_t panel = 0; panel < columns / kPanel; ++panel) {
    std::uint32_t sums[kPanel] = {};
    for (int64_t k = 0; k < block.depth; k += kQuad) {
      const std::int8_t* const right = block.right + panel * block.panel_step + k * kPanel;
      for (int64_t j = 0; j < kPanel; ++j)
        for (int64_t q = 0; q < kQuad; ++q)
          sums[j] += static_cast<std::uint32_t>(block.left[k + q] * right[j * kQuad + q]);
    }
    std::memcpy(block.sums + panel * kPanel, sums, sizeof sums);
  }
}
#endif

template <std::size_t... I>
void rows_of(std::size_t count, const Block& block, int64_t columns, std::index_sequence<I...>) {
  static constexpr decltype(&some_rows<1>) kSome[] = {&some_rows<I + 1>...};
  kSome[count - 1](block, columns);
}

}  // namespace

void multiply(const std::uint8_t* left, int64_t step, int64_t count, const std::int8_t* right, int64_t panel_step,
              int64_t panels, int64_t depth, std::int32_t* sums, int64_t row) {
  constexpr auto kMost = static_cast<int64_t>(kMostRows);
  for (int64_t i = 0; i < count; i += kMost)
    rows_of(static_cast<std::size_t>(std::min(kMost, count - i)),
            {left + i * step, step, right, panel_step, depth, sums + i * row, row}, panels * kPanel,
            std::make_index_sequence<kMostRows>());
}

// The compiler vectorises these functions for the current target. Unsigned numbers wrap around.
void correct_each(const std::int32_t* sums, int64_t row, int64_t rows, int64_t columns, const Correction& correction,
                  std::int32_t* to, int64_t to_row) {
  const auto word = [](std::int32_t x) { return static_cast<std::uint32_t>(x); };
  for (int64_t i = 0; i < rows; ++i, sums += row, to += to_row) {
    const std::int32_t *const add = correction.add, *const factors = correction.factors;
    const std::uint32_t sum_of_row = factors ? word(correction.row_sums[i]) : 0;
    if (add && factors)
      for (int64_t j = 0; j < columns; ++j)
        to[j] = static_cast<std::int32_t>(word(sums[j]) + word(add[j]) - word(factors[j]) * sum_of_row);
    else if (add)
      for (int64_t j = 0; j < columns; ++j) to[j] = static_cast<std::int32_t>(word(sums[j]) + word(add[j]));
    else if (to != sums) std::copy_n(sums, columns, to);
  }
}
void sum_each_row(const std::uint8_t* left, int64_t step, int64_t rows, int64_t depth, std::int32_t* sums) {
  for (int64_t i = 0; i < rows; ++i) {
    std::uint32_t sum = 0;
    for (int64_t k = 0; k < depth; ++k) sum += left[i * step + k];
    sums[i] = static_cast<std::int32_t>(sum);
  }
}
template <class T>
void floats_of(const T* x, std::int32_t zero, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(std::int32_t{x[i]} - zero);
}
void bytes_to_floats(const std::byte* x, bool is_signed, std::int32_t zero, int64_t count, float* to) {
  if (is_signed) floats_of(reinterpret_cast<const std::int8_t*>(x), zero, count, to);
  else floats_of(reinterpret_cast<const std::uint8_t*>(x), zero, count, to);
}
void floats_to_words(const float* x, int64_t count, std::int32_t* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<std::int32_t>(x[i]);
}

constexpr Tiles kTiles{"vectors", Algorithm::IntegerVectors, 1, kQuad, multiply};
constexpr ByteKernels kByteKernels{kTiles, correct_each, sum_each_row, bytes_to_floats, floats_to_words};
const ByteKernels& find_byte_kernels() { return kByteKernels; }

}  // namespace kiln::cpu::integer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::integer {

HWY_EXPORT(find_byte_kernels);
const ByteKernels& byte_kernels() { return HWY_DYNAMIC_DISPATCH(find_byte_kernels)(); }

std::span<const Tiles* const> all_tiles() {
  static const std::vector<const Tiles*> all = [] {
    const auto machine = machine_tiles();
    std::vector<const Tiles*> list(machine.begin(), machine.end());
    list.push_back(&byte_kernels().tiles);
    return list;
  }();
  return all;
}

const Tiles& tiles_for(std::int64_t rows) {
  for (const Tiles* tiles : all_tiles())
    if (8 * rows >= tiles->rows && !is_disabled(tiles->algorithm)) return *tiles;
  return byte_kernels().tiles;
}

}  // namespace kiln::cpu::integer
#endif
