// Selects the instruction sets that kernels are compiled for. Include this before the headers of Highway.
#pragma once
#include <hwy/detect_targets.h>

// Each target compiles every kernel once more. SSSE3 and the targets above AVX3 (lower bits, of which each version of
// Highway adds more) would gain nothing over their neighbours. Vectors of at most 64 bytes let operands be padded to
// one cache line.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | (HWY_AVX3 - 1) | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
