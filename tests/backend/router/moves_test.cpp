// KILN_LOG=router says each move. The program is started anew, since it reads its settings once.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/backend/router/parts.hpp"

namespace kiln::test {
namespace {

void add_on_two_parts() {
  const Device device = Device::parse("router:cpu,reference");
  const Value small = full({2}, 1, router_part(device, 0), DType::F32);
  const Value large = full({3, 2}, 1, router_part(device, 1), DType::F32);
  std::exit((small + large * small).data().at(0) == 2 ? 0 : 1);
}

TEST(RouterDeathTest, LogsMoves) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  ::setenv("KILN_LOG", "router", 1);
  EXPECT_EXIT(add_on_two_parts(), testing::ExitedWithCode(0),
              "^router: float32 \\[2\\], 8 bytes: cpu to reference, for mul\n$");
  ::unsetenv("KILN_LOG");
  EXPECT_EXIT(add_on_two_parts(), testing::ExitedWithCode(0), "^$");
}

}  // namespace
}  // namespace kiln::test
