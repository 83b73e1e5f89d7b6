// A program of its own: nothing in it names the CPU, which must be there all the same.
#include <gtest/gtest.h>

#include "kiln/core/error/error.hpp"
#include "kiln/ops/device.hpp"

namespace kiln {
namespace {

TEST(CpuDevices, RegisterThemselvesInAProgramThatOnlyAsksForThemByName) {
  EXPECT_EQ(Device::parse("reference").name(), "reference");
  EXPECT_EQ(Device::parse("cpu").name(), "cpu");
  EXPECT_THROW(Device::parse("abacus"), DeviceError);
}

}  // namespace
}  // namespace kiln
