// Folds of halves, which are converted to floats in registers.
#include "kiln/backend/cpu/simd/reduce/fold.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/reduce/fold_halves.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include "kiln/backend/cpu/simd/reduce/fold_columns.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

const FoldKernel* half_kernel(DType dtype, Fold fold) {
  return dtype == DType::F16 ? fold_kernel_of<F16>(fold) : fold_kernel_of<BF16>(fold);
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(half_kernel);
const FoldKernel& half_fold_kernel(DType dtype, Fold fold) { return *HWY_DYNAMIC_DISPATCH(half_kernel)(dtype, fold); }

}  // namespace kiln::cpu::simd
#endif
