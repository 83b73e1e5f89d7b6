// Running along several lines side by side: the inner loops of scans.
#pragma once
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kiln/ops/reduce/scan_ops.hpp"

namespace kiln::cpu::simd {

inline constexpr std::int64_t kStreams = 8;        // lines at once where lines lie one after the other
inline constexpr std::int64_t kScanColumns = 256;  // where they are neighbours

/// Elements between neighbours of one line, and between lines.
struct Steps {
  std::int64_t row = 0, column = 0;
};

/// What has been folded so far of each line. Floats are folded in double.
template <class C>
struct Running {
  using A = std::conditional_t<std::is_floating_point_v<C>, double, std::int64_t>;
  A folded[kScanColumns];            // the sum, product or extreme; of LogSumExp the largest
  double scale[kScanColumns];        // of LogSumExp: the sum of exp(x - largest)
  std::int64_t place[kScanColumns];  // of extremes: the index, -1 before there is one
};

/// `columns` lines, of which x is the next element of the first, and z the place of its result (null: none wanted).
template <class C>
struct ScanBlock {
  std::int64_t rows, columns;
  const C* x;
  Steps x_steps{};
  C* z = nullptr;
  Steps z_steps{};
  // Of extremes: where indices go, the index of x, and what is added to it from one element to the next.
  std::int64_t* places = nullptr;
  Steps places_steps{};
  std::int64_t place = 0;
  Steps place_steps{};
};

/// C is float, double or int64 (for which there is no LogSumExp).
template <class C>
void scan_block(op::ScanFn fn, bool exclusive, const ScanBlock<C>& block, Running<C>& running);

/// y = a * y + b along each line, as above; C is float or double.
template <class C>
void recurrence_block(const C* a, const C* b, C* y, std::int64_t rows, std::int64_t columns, Steps steps);

}  // namespace kiln::cpu::simd
