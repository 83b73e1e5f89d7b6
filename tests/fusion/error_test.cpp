// An operation whose data are wrong is reported to who reads its result, with the place where it was asked for.
#include <gtest/gtest.h>

#include "tests/fusion/fused_device.hpp"

namespace kiln::test {
namespace {

TEST(FusedErrors, ReachWhoReadsTheValue) {
  const FusedDevice fused;
  const Value table = fused.of({4, 2}, 1.0), far = full({1}, 9, fused.device, DType::I64);
  const Value wrong = select(table, 0, far) * 2, right = table + 1;
  EXPECT_EQ(right.data().to_vector<float>()[0], 1);
  for (int twice = 0; twice < 2; ++twice) {
    try {
      (void)wrong.data();
      FAIL() << "nothing was said";
    } catch (const IndexError& error) {
      EXPECT_TRUE(error.message().starts_with("select: index 9 is out of range for dimension 0 of size 4"));
      EXPECT_NE(error.message().find("called from"), std::string_view::npos);
    }
  }
  EXPECT_THROW((void)(wrong + right).data(), IndexError);
  EXPECT_EQ((right + 1).data().to_vector<float>()[0], 2);
}

TEST(FusedErrors, ReachSyncOnce) {
  const FusedDevice fused;
  const Value wrong = select(fused.of({4}), 0, full({1}, -1, fused.device, DType::I64));
  EXPECT_THROW(fused.device.sync(), IndexError);
  fused.device.sync();
  EXPECT_THROW((void)wrong.data(), IndexError);
}

TEST(FusedErrors, OfShapesAreToldAtTheCall) {
  const FusedDevice fused;
  EXPECT_THROW(matmul(fused.of({2, 3}), fused.of({2, 3})), ShapeError);
}

}  // namespace
}  // namespace kiln::test
