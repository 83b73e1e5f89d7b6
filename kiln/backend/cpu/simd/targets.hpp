// Which instruction sets the kernels are compiled for; to be included before Highway's headers.
#pragma once
#include <hwy/detect_targets.h>

// Each target compiles every kernel once more. SSSE3 and what is above AVX3 (lower bits, more of them in each Highway) would
// gain nothing over their neighbours, and a vector of at most 64 bytes lets operands be padded to one cache line.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | (HWY_AVX3 - 1) | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
