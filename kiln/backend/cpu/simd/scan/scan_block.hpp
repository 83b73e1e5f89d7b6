// The inner loops of scans, which run along several lines at once.
#pragma once
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kiln/ops/reduce/scan_ops.hpp"

namespace kiln::cpu::simd {

inline constexpr std::int64_t kContiguousLines = 8;  // lines at once if the scanned axis is contiguous
inline constexpr std::int64_t kScanColumns = 256;    // the most lines at once if the scanned axis is strided

/// The distance in elements between neighbours of one line (row), and between lines (column).
struct Steps {
  std::int64_t row = 0, column = 0;
};

/// The running state of each line. Floats are folded in double.
template <class C>
struct ScanState {
  using A = std::conditional_t<std::is_floating_point_v<C>, double, std::int64_t>;
  A folded[kScanColumns];            // the sum, product or extreme; for LogSumExp the largest element
  double scale[kScanColumns];        // for LogSumExp: the sum of exp(x - largest)
  std::int64_t place[kScanColumns];  // for extremes: the index, or -1 before the first element
};

/// `rows` steps of `columns` lines. x is the next element of the first line, and z receives its result; z is null if
/// only the running state is wanted.
template <class C>
struct ScanBlock {
  std::int64_t rows, columns;
  const C* x;
  Steps x_steps{};
  C* z = nullptr;
  Steps z_steps{};
  // Extremes have these as well: where indices are written, the index of x, and the differences between the indices of
  // neighbours.
  std::int64_t* places = nullptr;
  Steps places_steps{};
  std::int64_t place = 0;
  Steps place_steps{};
};

/// C is float, double or int64.
template <class C>
struct ScanKernels {
  /// Scans a block and updates `running`; LogSumExp is for floats only.
  void (*scan)(op::ScanFn fn, bool exclusive, const ScanBlock<C>& block, ScanState<C>& running);
  /// Computes y = a * y + b along each of `columns` lines of floats, where the y before the first element is 0.
  void (*recur)(const C* a, const C* b, C* y, std::int64_t rows, std::int64_t columns, Steps steps);
};
/// Returns the functions for the instruction set of this machine.
template <class C> const ScanKernels<C>& scan_kernels();

}  // namespace kiln::cpu::simd
