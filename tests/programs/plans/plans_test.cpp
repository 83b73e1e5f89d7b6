// 600 random programs run fused as they do one operation at a time, and make plans of every kind.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "tests/programs/plans/census.hpp"
#include "tests/programs/plans/program.hpp"
#include "tests/support/long.hpp"

namespace kiln::plans {
namespace {

/// The processor itself, which is not to fuse, and behind a Fusion with a Census between them.
struct Devices {
  Devices() {
    setenv("KILN_FUSION", "0", 1);
    plain = Device::cpu();
    census = make_ref<Census>(plain.handle());
    fused = Device(make_ref<fusion::Fusion>(census));
  }
  Device plain, fused;
  Ref<Census> census;
};

constexpr int kParts = 4;

class PlannedPrograms : public testing::TestWithParam<int> {};

// KILN_SEED=123 runs that one alone.
TEST_P(PlannedPrograms, GiveWhatTheirOperationsGive) {
  const std::uint64_t count = test::is_long() ? 20'000 : 600;
  const char* const only = std::getenv("KILN_SEED");
  Devices devices;
  for (std::uint64_t seed = static_cast<std::uint64_t>(GetParam()); seed < count; seed += kParts) {
    if (only && seed != std::strtoull(only, nullptr, 10)) continue;
    const Program program = make_program(seed);
    const std::optional<std::string> wrong = check(program, devices.fused, devices.plain);
    if (!wrong) continue;
    const Program small = shrink(program, devices.fused, devices.plain);
    ADD_FAILURE() << "KILN_SEED=" << seed << ": " << *wrong
                  << "\nmade small: " << check(small, devices.fused, devices.plain).value_or("right") << "\n\n"
                  << snippet(small);
  }
  if (only) return;

  const auto made = [&](const std::string& kind) {
    const auto found = devices.census->counts.find(kind);
    return found == devices.census->counts.end() ? 0 : found->second;
  };
  for (const char* dtype : {"float32", "float64", "bfloat16", "float16", "bool"})
    EXPECT_GE(made(text("fused ", dtype)), 1) << dtype;
  for (const char* dtype : {"float32", "bfloat16", "float16"}) {
    EXPECT_GE(made(text("epilogue of matmul ", dtype)), 1) << dtype;
    EXPECT_GE(made(text("epilogue of conv ", dtype)), 1) << dtype;
  }
  int blocked = 0, folded = 0, together = 0, single = 0;
  for (const auto& [kind, times] : devices.census->counts) {
    RecordProperty(kind, times);
    if (kind.starts_with("row_blocked")) blocked += times;
    if (kind.starts_with("fused with folds")) folded += times;
    if (kind.starts_with("horizontal")) together += times;
    if (kind.starts_with("single")) single += times;
  }
  EXPECT_GE(blocked, 2);
  EXPECT_GE(folded, 10);
  EXPECT_GE(together, 10);
  EXPECT_LT(single, devices.census->all * 2 / 3);  // what was joined counts once
}
INSTANTIATE_TEST_SUITE_P(Seeds, PlannedPrograms, testing::Range(0, kParts));

}  // namespace
}  // namespace kiln::plans
