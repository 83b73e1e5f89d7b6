// Constants and parts of the kernels of products: how many sums in how many vectors, and partial vectors. Included once
// per target.
#if defined(KILN_SIMD_TILE_PARTS_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef KILN_SIMD_TILE_PARTS_HPP
#undef KILN_SIMD_TILE_PARTS_HPP
#else
#define KILN_SIMD_TILE_PARTS_HPP
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "kiln/backend/cpu/simd/vector.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

using std::int64_t;
template <std::size_t... I>
using Indices = std::index_sequence<I...>;
template <std::size_t N>
using UpTo = std::make_index_sequence<N>;

template <class T>
constexpr auto kWidth = static_cast<int64_t>(kLanes<T>);

// Sums are kept in registers: AVX-512 has 32, and most other targets have 16. WebAssembly has what its engine leaves of
// them, and multiplies and adds in two steps.
constexpr std::size_t kMostSums = HWY_MAX_BYTES >= 64 ? 24 : HWY_ARCH_WASM ? 8 : 12;
constexpr std::size_t kVectors = 2;
template <class T>
constexpr int64_t kPanel = static_cast<int64_t>(kVectors) * kWidth<T>;
/// The most rows of a tile. Each number of rows is separate code for every target; integers, which are multiplied
/// seldom, have fewer.
template <class T>
constexpr std::size_t kTileRows = std::is_integral_v<T> ? 4 : kMostSums / kVectors;
/// The vectors of a row in a tile with few rows: neighbours in memory are read together.
constexpr std::size_t wide(std::size_t rows) { return std::min<std::size_t>(kMostSums / rows, 8); }

// Loads or stores the first `count` numbers of a vector; no others are accessed. Zeros replace numbers that are not
// loaded.
template <class T>
constexpr bool kHasMasks = HWY_ARCH_X86 && HWY_MAX_BYTES >= (sizeof(T) < 4 ? 64 : 32);
template <class T>
HWY_INLINE Vector<T> load_first(const T* from, int64_t count) {
  if constexpr (kHasMasks<T>) {
    const typename Vector<T>::Tag tag;
    return hn::MaskedLoad(hn::FirstN(tag, static_cast<std::size_t>(count)), tag, from);
  } else if (count == kWidth<T>) {
    return Vector<T>::load(from);
  } else {
    T lanes[kLanes<T>] = {};
    std::copy_n(from, count, lanes);
    return Vector<T>::load(lanes);
  }
}
template <class T>
HWY_INLINE void store_first(Vector<T> x, T* to, int64_t count) {
  if constexpr (kHasMasks<T>) {
    const typename Vector<T>::Tag tag;
    hn::BlendedStore(x.lanes, hn::FirstN(tag, static_cast<std::size_t>(count)), tag, to);
  } else {
    T lanes[kLanes<T>];
    store(x, lanes);
    std::copy_n(lanes, count, to);
  }
}

/// The distance, in rows, at which rows of b are prefetched: they come from a farther cache than other data.
constexpr int64_t kRowsAhead = 24;  // bench: suite matmul_*, lstm_train

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
