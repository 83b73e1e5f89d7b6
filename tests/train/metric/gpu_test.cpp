// What is seen of GPUs: nothing where there are none, and what their driver says, here with libraries that play two.
#include <cstdlib>

#include <gtest/gtest.h>

#include "kiln/tensor/create.hpp"
#include "kiln/train/metric/machine.hpp"
#include "kiln/train/sensor/gauge.hpp"
#include "tests/support/forwarding.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

bool has_fake() { return std::getenv("KILN_TEST_FAKE_GPU") != nullptr; }

/// The processor by the name of a GPU.
class Called final : public test::Forwarding {
 public:
  explicit Called(std::string name) : name_(std::move(name)) {}
  std::string name() const override { return name_; }

 private:
  std::string name_;
};
Device called(const std::string& name) { return Device(make_ref<Called>(name)); }

TEST(GpuSensors, SayNothingOfOtherDevices) {
  for (const char* const name : {"cpu", "cuda:", "cuda:x", "cuda:1x", "cudan", "cuda-1", "cuda:7"}) {
    const sensor::GpuState state = sensor::gpu_state(called(name));
    EXPECT_FALSE(state.use || state.degrees) << name;
  }
  metric::DeviceUse use;
  EXPECT_EQ(sentence_of([&] { return use.value(); }), "ArgumentError: device use: nothing was measured");
  use.look(Device::cpu());
  EXPECT_EQ(sentence_of([&] { return use.value(); }), "ArgumentError: device use: this machine has no sensor for it");
  metric::DeviceTemperature temperature;
  temperature.look(Device::cpu());
  EXPECT_EQ(sentence_of([&] { return temperature.value(); }),
            "ArgumentError: device temperature: this machine has no sensor for it");
  Gauge gauge({Device::cpu()});
  EXPECT_TRUE(gauge.look());
  EXPECT_EQ(gauge.line().find("cpu "), 0u);
  EXPECT_EQ(gauge.line().find("   "), std::string::npos);
  EXPECT_FALSE(gauge.look());  // too soon
}

TEST(GpuSensors, SayWhatTheDriverSays) {
  if (!has_fake()) GTEST_SKIP() << "this run has no fake GPUs";
  const sensor::GpuState first = sensor::gpu_state(called("cuda")), second = sensor::gpu_state(called("cuda:1"));
  EXPECT_FALSE(first.use);
  EXPECT_EQ(first.degrees, 40);
  EXPECT_EQ(second.use, 87);
  EXPECT_EQ(second.degrees, 61);

  struct Output {
    Tensor<0> loss;
  };
  metric::DeviceUse use;
  metric::DeviceTemperature temperature;
  use.look(called("cuda:1"));
  temperature.look(called("cuda:0"));
  EXPECT_EQ(use.value(), 87);
  EXPECT_EQ(temperature.value(), 40);
  const Output output{Tensor<0>::ones({}, Device::cpu())};
  metric::DeviceUse none;
  none.update(output);  // asks where the loss lies
  EXPECT_EQ(none.looks, 0);

  Gauge gauge({called("cuda"), called("cuda:1")});
  gauge.look();
  EXPECT_NE(gauge.line().find("   cuda 0.0 GiB, 40 °C"), std::string::npos) << gauge.line();
  EXPECT_NE(gauge.line().find("   cuda:1 0.0 GiB, 87 %, 61 °C"), std::string::npos) << gauge.line();
}

}  // namespace
}  // namespace kiln
