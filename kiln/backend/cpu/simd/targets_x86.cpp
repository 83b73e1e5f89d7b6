// Which instruction sets Highway's dispatch may choose from: what we use of its library, where that is shared. A program
// that loads the library waits 4 ms for its timers to be measured, twice as long as all the rest takes.
//
// The functions are those that hwy/targets.h declares; they stand before the library's own, should it be loaded as well.
#include <hwy/targets.h>

// Sets that older versions of Highway do not know.
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
  std::int64_t known = ~std::int64_t{0};  // less what DisableTargets names
  std::int64_t pretended = 0;             // by SetSupportedTargetsForTest; 0: nothing
};
Choice choice;

// As Highway groups them (hwy/detect_targets.h): each has what stands before it.
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
  const std::int64_t allowed = (choice.pretended ? choice.pretended : present) & choice.known;
  return allowed ? allowed : HWY_STATIC_TARGET;
}

void DisableTargets(std::int64_t disabled_targets) { choice.known = ~disabled_targets; }
void SetSupportedTargetsForTest(std::int64_t targets) { choice.pretended = targets; }

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy
