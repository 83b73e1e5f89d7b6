// What the environment may say of fusion, and what is said of anything else.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "kiln/fusion/fusion.hpp"
#include "kiln/ops/devices.hpp"
#include "kiln/ops/reduce/order.hpp"
#include "tests/fusion/fused_device.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::test {
namespace {

/// A variable of the environment while it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    ::setenv(name, value, 1);
  }
  ~Variable() {
    if (before_) ::setenv(name_, before_->c_str(), 1);
    else ::unsetenv(name_);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

bool fuses() { return dynamic_cast<fusion::Fusion*>(decorated(Device::parse("reference").handle()).get()) != nullptr; }

TEST(Environment, ChoosesWhetherOperationsAreFused) {
  for (const char* value : {"1", ""}) {
    const Variable variable("KILN_FUSION", value);
    EXPECT_TRUE(fuses()) << value;
  }
  const Variable off("KILN_FUSION", "0");
  EXPECT_FALSE(fuses());
}

TEST(Devices, AreNamedTheFastestFirst) {
  // GPUs, if there are any, come first.
  const std::vector<std::string> names = device_names();
  const auto cpu = std::ranges::find(names, "cpu");
  ASSERT_EQ(std::vector<std::string>(cpu, names.end()), (std::vector<std::string>{"cpu", "reference"}));
  ASSERT_EQ(devices().size(), names.size());
  EXPECT_EQ(devices()[static_cast<std::size_t>(cpu - names.begin())], Device::cpu());
}

TEST(Devices, AreOfAKind) {
  EXPECT_EQ(kind_of_device("cpu"), DeviceKind::Cpu);
  EXPECT_EQ(name(DeviceKind::Integrated), "integrated");
  const std::vector<Device> processors = devices(DeviceKind::Cpu);
  ASSERT_EQ(processors.size(), 2u);
  EXPECT_EQ(processors[0], Device::cpu());
  EXPECT_EQ(processors[1].name(), "reference");
  EXPECT_TRUE(devices(DeviceKind::Virtual).empty());
  EXPECT_EQ(sentence_of([] { return kind_of_device("abacus") == DeviceKind::Cpu; }),
            sentence_of([] { return Device::parse("abacus"); }));
}

TEST(Environment, IsToldWhatItMaySay) {
  {
    const Variable variable("KILN_FUSION", "off");
    EXPECT_EQ(sentence_of(&fuses), "ArgumentError: KILN_FUSION must be 0 or 1, got 'off'");
  }
  {
    const Variable variable("KILN_LOG", "fusoin\x1b[2J");
    EXPECT_EQ(sentence_of(&fuses),
              "ArgumentError: KILN_LOG must be a list of autodiff, cuda, fusion, gpu, libtorch, router, vmap and "
              "vulkan, separated by "
              "commas, got "
              "'fusoin\\x1b[2J'");
  }
}

TEST(Environment, HasEveryStepOfANewPlanOnALineOfItsOwn) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // the variable is read once
  const Variable variable("KILN_LOG", "fusion");
  const auto program = [] {
    const FusedDevice fused;
    const Value x = fused.of({2, 2});
    (void)sort(x * 2 + 1, 0).values.data();
    std::exit(0);
  };
  EXPECT_EXIT(program(), testing::ExitedWithCode(0),
              "operations become [0-9]+:\n(  [^\n]*\n)*  [^\n]*mul add[^\n]*\n  sort[^\n]*\n");
}

}  // namespace
}  // namespace kiln::test
