// Which instruction sets the kernels are compiled for; to be included before Highway's headers.
#pragma once
#include <hwy/detect_targets.h>

// Each target compiles every kernel once more. SSSE3 and AVX3_DL would gain nothing over their neighbours, and a
// vector of at most 64 bytes lets operands be padded to one cache line.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
