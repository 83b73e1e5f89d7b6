// Ours against what Highway's own library finds out about the processor.
#include <cstdint>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <hwy/targets.h>

namespace {

constexpr const char* kSupportedTargets = "_ZN3hwy16SupportedTargetsEv";  // as compilers name it

TEST(SimdTargets, AreThoseThatHighwaysLibraryFinds) {
  void* const library = dlopen("libhwy.so.1", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto theirs = reinterpret_cast<std::int64_t (*)()>(dlsym(library, kSupportedTargets));
  ASSERT_NE(theirs, nullptr);
  ASSERT_NE(theirs, &hwy::SupportedTargets);
  EXPECT_EQ(hwy::SupportedTargets(), theirs());
}

TEST(SimdTargets, CanBePretendedAndDisabled) {
  const std::int64_t all = hwy::SupportedTargets();
  hwy::SetSupportedTargetsForTest(HWY_SSE4 | HWY_SSSE3);
  EXPECT_EQ(hwy::SupportedTargets(), HWY_SSE4 | HWY_SSSE3);
  hwy::DisableTargets(HWY_SSE4);
  EXPECT_EQ(hwy::SupportedTargets(), HWY_SSSE3);
  hwy::DisableTargets(HWY_SSE4 | HWY_SSSE3);
  EXPECT_EQ(hwy::SupportedTargets(), HWY_STATIC_TARGET);
  hwy::SetSupportedTargetsForTest(0);
  hwy::DisableTargets(0);
  EXPECT_EQ(hwy::SupportedTargets(), all);
}

}  // namespace
