// Defines the functions of Highway's library that Kiln uses, for when that library is a shared one: they say which
// instruction sets dispatch may choose from. A program that loads the shared library would wait 4 ms while it measures
// its timers, twice as long as the rest of loading takes.
//
// hwy/targets.h declares the functions. If the library is loaded as well, these definitions take precedence over
// those of the library.
#include <hwy/targets.h>

// Older versions of Highway do not define these sets.
#ifndef HWY_SSE2
#define HWY_SSE2 0
#endif
#ifndef HWY_AVX3_ZEN4
#define HWY_AVX3_ZEN4 0
#endif
#ifndef HWY_AVX3_SPR
#define HWY_AVX3_SPR 0
#endif

namespace hwy {
namespace {

struct Choice {
  std::int64_t allowed_targets = ~std::int64_t{0};  // all but those that DisableTargets names
  std::int64_t test_targets = 0;                    // set by SetSupportedTargetsForTest; 0: not set
};
Choice choice;

// Detects the groups of features that Highway defines (hwy/detect_targets.h). Each group includes those before it.
std::int64_t of_this_processor() {
  __builtin_cpu_init();
  std::int64_t targets = HWY_SSE2 | HWY_EMU128 | HWY_SCALAR;
  if (!__builtin_cpu_supports("ssse3")) return targets;
  targets |= HWY_SSSE3;
  if (!__builtin_cpu_supports("sse4.1") || !__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("pclmul") ||
      !__builtin_cpu_supports("aes"))
    return targets;
  targets |= HWY_SSE4;
  if (!__builtin_cpu_supports("avx") || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("lzcnt") || !__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2") ||
      !__builtin_cpu_supports("f16c"))
    return targets;
  targets |= HWY_AVX2;
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512vl") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512cd"))
    return targets;
  targets |= HWY_AVX3;
  if (!__builtin_cpu_supports("avx512vnni") || !__builtin_cpu_supports("vpclmulqdq") ||
      !__builtin_cpu_supports("avx512vbmi") || !__builtin_cpu_supports("avx512vbmi2") ||
      !__builtin_cpu_supports("vaes") || !__builtin_cpu_supports("avx512vpopcntdq") ||
      !__builtin_cpu_supports("avx512bitalg") || !__builtin_cpu_supports("gfni"))
    return targets;
  targets |= HWY_AVX3_DL;
  if (!__builtin_cpu_supports("avx512bf16")) return targets;
  if (__builtin_cpu_is("amd")) targets |= HWY_AVX3_ZEN4;
  if (__builtin_cpu_supports("avx512fp16")) targets |= HWY_AVX3_SPR;
  return targets;
}

}  // namespace

std::int64_t SupportedTargets() {
  static const std::int64_t present = of_this_processor();
  const std::int64_t allowed = (choice.test_targets ? choice.test_targets : present) & choice.allowed_targets;
  return allowed ? allowed : HWY_STATIC_TARGET;
}

void DisableTargets(std::int64_t disabled_targets) { choice.allowed_targets = ~disabled_targets; }
void SetSupportedTargetsForTest(std::int64_t targets) { choice.test_targets = targets; }

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy
