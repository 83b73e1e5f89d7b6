// Folds of floats and doubles, the row reductions of fused programs (FoldLanes), and the choice of kernels.
#include "kiln/backend/cpu/simd/reduce/fold.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kiln/backend/cpu/simd/reduce/fold_lanes.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/reduce/fold.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include "kiln/backend/cpu/simd/reduce/fold_columns.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

const FoldKernel* float_kernel(DType dtype, Fold fold) {
  return dtype == DType::F64 ? fold_kernel_of<double>(fold) : fold_kernel_of<float>(fold);
}

void root(double* sums, std::int64_t count) {
  constexpr auto lanes = static_cast<std::int64_t>(kLanes<double>);
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    store(Vector<double>(hn::Sqrt(Vector<double>::load(sums + i).lanes)), sums + i);
  for (; i < count; ++i) sums[i] = std::sqrt(sums[i]);
}
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
  static_assert(Line::kBlock * sizeof(T) <= sizeof(FoldLanes::rest) && Line::kWidth <= 16);

  static void take(FoldLanes& run, const void* numbers, std::int64_t count) {
    const auto* x = static_cast<const T*>(numbers);
    run.left -= count;
    auto& lanes = run.lanes<T, fold>();
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
    if (run.count < Line::kLeast) return Line::whole(run.waiting_numbers<T>(), run.count, fold_start<T, fold>());
    return Line::finish(run.waiting_numbers<T>(), run.waiting, run.lanes<T, fold>().data(), run.near);
  }
  static constexpr FoldLanes::Functions kFunctions{.take = take, .total = total};
};

template <class T>
const FoldLanes::Functions* functions_for(Fold fold) {
  if (fold == Fold::Max) return &FoldOfRun<T, Fold::Max>::kFunctions;
  if (fold == Fold::Min) return &FoldOfRun<T, Fold::Min>::kFunctions;
  if (fold == Fold::Length) return &FoldOfRun<T, Fold::Length>::kFunctions;
  return &FoldOfRun<T, Fold::Sum>::kFunctions;
}
const FoldLanes::Functions* functions_of(Fold fold, bool of_doubles) {
  return of_doubles ? functions_for<double>(fold) : functions_for<float>(fold);
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(float_kernel);
const FoldKernel& float_fold_kernel(DType dtype, Fold fold) { return *HWY_DYNAMIC_DISPATCH(float_kernel)(dtype, fold); }

const FoldKernel& fold_kernel(DType dtype, Fold fold) {
  if (!is_float(dtype)) return integer_fold_kernel(dtype, fold);
  return size_of(dtype) == 2 ? half_fold_kernel(dtype, fold) : float_fold_kernel(dtype, fold);
}

HWY_EXPORT(divide);
HWY_EXPORT(root);
void finish_fold(op::ReduceFn fn, std::int64_t of, void* folded, std::int64_t count) {
  auto* const sums = static_cast<double*>(folded);
  if (fn == op::ReduceFn::Mean && of != 1) HWY_DYNAMIC_DISPATCH(divide)(static_cast<double>(of), sums, count);
  if (fn == op::ReduceFn::Length) HWY_DYNAMIC_DISPATCH(root)(sums, count);
}

HWY_EXPORT(functions_of);
void FoldLanes::start(op::ReduceFn fn, DType dtype, std::int64_t count) {
  const Fold fold = fold_of(fn);
  functions = HWY_DYNAMIC_DISPATCH(functions_of)(fold, dtype == DType::F64);
  const FoldKernel& kernel = float_fold_kernel(dtype, fold);
  if (kernel.folded == DType::F64) kernel.start(sums.data(), std::ssize(sums));
  else kernel.start(extremes.data(), std::ssize(extremes));
  this->count = left = count;
  near = partial_terms(count);
  waiting = 0;
}

template <class T>
static void put_together(FoldLanes& run, const void* x, std::int64_t count) {
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
  std::memcpy(run.gathered, x, bytes);
  run.gathered += bytes;
}
template <class T>
static constexpr FoldLanes::Functions kGathering{.take = put_together<T>, .total = nullptr};

void FoldLanes::gather(DType dtype, std::byte* to) {
  functions = dtype == DType::F64 ? &kGathering<double> : &kGathering<float>;
  gathered = to;
  waiting = kGathers;
}

}  // namespace kiln::cpu::simd
#endif
