// Folds of halves, which are converted to floats in registers.
#include "kiln/backend/cpu/simd/reduce/fold.hpp"
#include "kiln/backend/cpu/simd/reduce/fold_exports.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/reduce/fold_halves.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include "kiln/backend/cpu/simd/reduce/fold_matrix.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

#define KILN_FOLD(name, T, fold)           \
  KILN_FOLD_BY(fold_matrix, name, T, fold) \
  KILN_FOLD_BY(fold_each_line, lines_##name, T, fold)
KILN_FLOAT_FOLDS(F16, f16)
KILN_FLOAT_FOLDS(BF16, bf16)
#undef KILN_FOLD

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

#define KILN_FOLD(name, T, fold)             \
  KILN_EXPORT_FOLD(fold_rows, name, T, fold) \
  KILN_EXPORT_FOLD(fold_lines, lines_##name, T, fold)
KILN_FLOAT_FOLDS(F16, f16)
KILN_FLOAT_FOLDS(BF16, bf16)
#undef KILN_FOLD

}  // namespace kiln::cpu::simd
#endif
