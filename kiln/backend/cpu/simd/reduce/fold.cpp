#include "kiln/backend/cpu/simd/reduce/fold.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kiln/backend/cpu/simd/reduce/fold_exports.hpp"
#include "kiln/backend/cpu/simd/reduce/fold_lanes.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/reduce/fold.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include "kiln/backend/cpu/simd/reduce/fold_matrix.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

#define KILN_FOLD(name, T, fold)           \
  KILN_FOLD_BY(fold_matrix, name, T, fold) \
  KILN_FOLD_BY(fold_each_line, lines_##name, T, fold)
KILN_FLOAT_FOLDS(float, float)
KILN_FLOAT_FOLDS(double, double)
#undef KILN_FOLD

void divide(double divisor, double* sums, std::int64_t count) {
  constexpr auto lanes = static_cast<std::int64_t>(kLanes<double>);
  const auto each = [&](auto&& quotient) HWY_ATTR {
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) store(quotient(Vector<double>::load(sums + i)), sums + i);
    for (; i < count; ++i) sums[i] /= divisor;
  };
  int exponent;
  // A multiplication by the reciprocal gives the same bits if the divisor is a power of two.
  if (const Vector<double> inverse = 1 / divisor; std::frexp(divisor, &exponent) == 0.5)
    each([&](Vector<double> sum) HWY_ATTR { return sum * inverse; });
  else each([&](Vector<double> sum) HWY_ATTR { return sum / Vector<double>(divisor); });
}

template <class T, Fold fold>
struct FoldOfRun {
  using Line = FoldLine<T, fold>;
  using A = FoldType<T, fold>;
  static_assert(Line::kBlock * sizeof(T) <= sizeof(FoldLanes::rest) && Line::kWidth <= 16);

  static void take(FoldLanes& run, const void* numbers, std::int64_t count) {
    const auto* x = static_cast<const T*>(numbers);
    run.left -= count;
    auto& lanes = run.lanes<T, fold>();
    if (run.in_order) {
      auto so_far = static_cast<A>(run.so_far);
      fold_narrow<T, fold>(x, count, 1, 1, &so_far);
      run.so_far = so_far;
      return;
    }
    T* const rest = run.waiting_numbers<T>();
    if (run.waiting > 0) {
      const std::int64_t more = std::min(count, Line::kBlock - run.waiting);
      std::copy_n(x, more, rest + run.waiting);
      run.waiting += more, x += more, count -= more;
      if (run.waiting < Line::kBlock) return;
      Line::take_block(rest, lanes.data(), run.near);
    }
    const std::int64_t taken = Line::take(x, count, lanes.data(), run.near);
    run.waiting = count - taken;
    std::copy_n(x + taken, run.waiting, rest);
  }
  static double total(FoldLanes& run) {
    const auto so_far = static_cast<A>(run.so_far);
    if (run.in_order) return so_far;
    return Line::finish(run.waiting_numbers<T>(), run.waiting, run.lanes<T, fold>().data(), run.near, so_far);
  }
  static constexpr FoldLanes::Functions kFunctions{.least = Line::kLeast, .take = take, .total = total};
};

template <class T>
const FoldLanes::Functions* functions_for(Fold fold) {
  if (fold == Fold::Max) return &FoldOfRun<T, Fold::Max>::kFunctions;
  if (fold == Fold::Min) return &FoldOfRun<T, Fold::Min>::kFunctions;
  return &FoldOfRun<T, Fold::Sum>::kFunctions;
}
const FoldLanes::Functions* functions_of(Fold fold, bool of_doubles) {
  return of_doubles ? functions_for<double>(fold) : functions_for<float>(fold);
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

#define KILN_FOLD(name, T, fold)             \
  KILN_EXPORT_FOLD(fold_rows, name, T, fold) \
  KILN_EXPORT_FOLD(fold_lines, lines_##name, T, fold)
KILN_FLOAT_FOLDS(float, float)
KILN_FLOAT_FOLDS(double, double)
#undef KILN_FOLD

HWY_EXPORT(divide);
void divide_by(double divisor, double* sums, std::int64_t count) { HWY_DYNAMIC_DISPATCH(divide)(divisor, sums, count); }

HWY_EXPORT(functions_of);
void FoldLanes::start(op::ReduceFn fn, DType dtype, std::int64_t count) {
  visit_fold(fn, [&]<Fold fold>() {
    functions = HWY_DYNAMIC_DISPATCH(functions_of)(fold, dtype == DType::F64);
    so_far = fold_start<float, fold>();
    if (dtype == DType::F64) lanes<double, fold>().fill(fold_start<double, fold>());
    else lanes<float, fold>().fill(fold_start<float, fold>());
  });
  left = count;
  in_order = count < functions->least;
  near = near_terms(count);
  waiting = 0;
}

template <class T>
static void put_together(FoldLanes& run, const void* x, std::int64_t count) {
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
  std::memcpy(run.gathered, x, bytes);
  run.gathered += bytes;
}
template <class T>
static constexpr FoldLanes::Functions kGathering{.least = 0, .take = put_together<T>, .total = nullptr};

void FoldLanes::gather(DType dtype, std::byte* to) {
  functions = dtype == DType::F64 ? &kGathering<double> : &kGathering<float>;
  gathered = to;
  waiting = kGathers;
}

}  // namespace kiln::cpu::simd
#endif
