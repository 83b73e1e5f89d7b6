// Folding a run of numbers that comes bit by bit, as the end of a fused program does.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kiln/backend/cpu/simd/reduce/fold.hpp"
#include "kiln/ops/reduce/reduce_ops.hpp"

namespace kiln::cpu::simd {

/// Calls f<fold>() with what a fused program's reduction folds by.
template <class F>
void visit_fold(op::ReduceFn fn, F&& f) {
  if (fn == op::ReduceFn::Max) f.template operator()<Fold::Max>();
  else if (fn == op::ReduceFn::Min) f.template operator()<Fold::Min>();
  else f.template operator()<Fold::Sum>();
}

/// What is folded so far. In whatever bits a run comes, the total is what fold_rows gives of all of it in one column,
/// to the bit.
struct FoldLanes {
  /// For one reduction, on the machine at hand.
  struct Functions {
    std::int64_t least;  // numbers; fewer are folded one after the other
    void (*take)(FoldLanes&, const void*, std::int64_t);
    double (*total)(FoldLanes&);
  };

  /// A run of `count` numbers of type `dtype`, F32 or F64, begins. `fn` is Sum, Mean (whose sum this is), Max or Min.
  void start(op::ReduceFn fn, DType dtype, std::int64_t count);
  /// Numbers begin that are put together at `to`, for others to fold. There is no total.
  void gather(DType dtype, std::byte* to);
  void take(const void* x, std::int64_t count) { functions->take(*this, x, count); }
  /// After the last of them.
  double total() { return functions->total(*this); }

  /// Of FoldLine.
  template <class T, Fold fold>
  auto& lanes() {
    if constexpr (accumulates(fold) || std::is_same_v<T, double>) return sums;
    else return extremes;
  }
  template <class T>
  T* waiting_numbers() {
    return reinterpret_cast<T*>(rest.data());
  }

  static constexpr std::int64_t kGathers = -1;  // that many are waiting where numbers are put together

  const Functions* functions;
  bool in_order;  // one after the other, into so_far
  double so_far;
  std::int64_t near;       // near_terms() of the run
  std::int64_t left;       // numbers that are still to come
  std::int64_t waiting;    // numbers in `rest`, which do not fill a block yet
  std::int64_t next, end;  // for a chain: of the numbers that its links run over, those still to be taken
  std::byte* gathered;     // where the next numbers go that are put together
  alignas(64) std::array<double, 16> sums;
  alignas(64) std::array<float, 16> extremes;
  alignas(64) std::array<std::byte, 512> rest;
};

}  // namespace kiln::cpu::simd
