// A row reduction of numbers that come a few at a time: the reduction at the end of a fused program.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kiln/backend/cpu/simd/reduce/fold.hpp"
#include "kiln/ops/reduce/reduce_ops.hpp"

namespace kiln::cpu::simd {

/// The state of folding one run of numbers. However the run is split, the total has the same bits as a FoldKernel gives
/// for the whole run as one line.
struct FoldLanes {
  /// The functions for one reduction and the instruction set of this machine.
  struct Functions {
    void (*take)(FoldLanes&, const void*, std::int64_t);
    double (*total)(FoldLanes&);
  };

  /// Begins a run of `count` numbers of type `dtype`, F32 or F64. `fn` is Sum, Mean (for which the total is the sum),
  /// Max, Min or Length (the sum of squares).
  void start(op::ReduceFn fn, DType dtype, std::int64_t count);
  /// Begins a run whose numbers take() only copies to `to`, one after the other; the caller folds them. There is no
  /// total.
  void gather(DType dtype, std::byte* to);
  void take(const void* x, std::int64_t count) { functions->take(*this, x, count); }
  /// Returns the total. Call it after all numbers of the run have been taken.
  double total() { return functions->total(*this); }

  /// The lanes that FoldLine folds into.
  template <class T, Fold fold>
  auto& lanes() {
    if constexpr (accumulates(fold) || std::is_same_v<T, double>) return sums;
    else return extremes;
  }
  template <class T>
  T* waiting_numbers() {
    return reinterpret_cast<T*>(rest.data());
  }

  static constexpr std::int64_t kGathers = -1;  // the value of `waiting` in a run begun by gather()

  const Functions* functions;
  std::int64_t count;      // how many numbers the run has
  std::int64_t near;       // partial_terms() of the run
  std::int64_t left;       // how many numbers are still to come
  std::int64_t waiting;    // how many numbers are in `rest`, which do not fill a block yet
  std::int64_t next, end;  // for chains: the part of the links' numbers that is still to be taken
  std::byte* gathered;     // where gather() copies the next numbers
  alignas(64) std::array<double, 16> sums;
  alignas(64) std::array<float, 16> extremes;
  alignas(64) std::array<std::byte, 512> rest;
};

}  // namespace kiln::cpu::simd
