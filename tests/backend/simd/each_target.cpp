// A sweep over instruction sets, where a program has several.
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/highway.h>

#include "tests/backend/simd/harness.hpp"

namespace kiln::cpu::simd {

void for_each_target(const std::function<void()>& body) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    body();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace kiln::cpu::simd
