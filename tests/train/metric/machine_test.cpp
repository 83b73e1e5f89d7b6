// Metrics of the machine, from files as Linux writes them and from the machine that the test runs on.
#include "kiln/train/metric/machine.hpp"

#include <unistd.h>

#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "kiln/core/file.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

namespace fs = std::filesystem;

class Machine : public testing::Test {
 protected:
  Machine() : directory_(fs::temp_directory_path() / text("kiln-machine-", ::getpid())) {}
  ~Machine() override { fs::remove_all(directory_); }

  fs::path write(const std::string& name, std::string_view contents) {
    const fs::path path = directory_ / name;
    fs::create_directories(path.parent_path());
    write_file_atomically(path.string(), contents);
    return path;
  }
  fs::path directory_;
};

TEST_F(Machine, ReadsWhatLinuxSays) {
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  const auto seconds = sensor::cpu_seconds(write("stat", "cpu  100 20 30 800 50 5 5 10 7 0\ncpu0 1 2 3 4\n"));
  ASSERT_TRUE(seconds);
  EXPECT_DOUBLE_EQ(seconds->busy, 170 / ticks);  // all but idle and waiting; guests are users already
  EXPECT_DOUBLE_EQ(seconds->all, 1020 / ticks);
  EXPECT_EQ(sensor::resident_bytes(write("statm", "900 300 20 1 0 80 0\n")),
            300.0 * static_cast<double>(::sysconf(_SC_PAGESIZE)));
  write("sys/hwmon/hwmon0/name", "nvme\n");
  write("sys/hwmon/hwmon0/temp1_input", "99000\n");
  write("sys/thermal/thermal_zone0/temp", "41500\n");
  EXPECT_EQ(sensor::cpu_temperature(directory_ / "sys"), 41.5);
  write("sys/hwmon/hwmon1/name", "coretemp\n");
  write("sys/hwmon/hwmon1/temp1_input", "55000\n");
  write("sys/hwmon/hwmon1/temp2_input", "57250\n");
  write("sys/hwmon/hwmon1/temp2_max", "100000\n");
  EXPECT_EQ(sensor::cpu_temperature(directory_ / "sys"), 57.25);
  EXPECT_FALSE(sensor::cpu_seconds(directory_ / "none"));
  EXPECT_FALSE(sensor::cpu_seconds(write("odd", "nonsense")));
  EXPECT_FALSE(sensor::resident_bytes(directory_ / "none"));
  EXPECT_FALSE(sensor::cpu_temperature(directory_ / "none"));
}

TEST_F(Machine, IsMeasuredWhileItWorks) {
  metric::CpuUse use;
  metric::CpuMemory memory;
  std::vector<char> held(64 << 20, 1);
  for (volatile char* at = held.data(); at < held.data() + held.size(); at += 4096) *at = 2;
  const double begin = sensor::seconds_now();
  while (sensor::seconds_now() < begin + 0.5) {
    use.update(0);
    memory.update(0);
  }
  EXPECT_GT(use.value(), 0);
  EXPECT_LE(use.value(), 100);
  EXPECT_GT(memory.value(), 64.0 / 1024);
  EXPECT_LE(memory.looks, 6);  // ten times a second at most
  EXPECT_EQ(sentence_of([] { metric::CpuUse{}.value(); }), "ArgumentError: cpu use: nothing was measured");
  metric::CpuTemperature none;
  none.last.take(begin);
  EXPECT_EQ(sentence_of([&] { none.value(); }), "ArgumentError: cpu temperature: this machine has no sensor for it");
}

TEST_F(Machine, ADevicesMemoryIsWhatItHolds) {
  metric::DeviceMemory memory;
  EXPECT_EQ(sentence_of([&] { memory.value(); }), "ArgumentError: device memory: nothing was measured");
  const Device cpu = Device::cpu();
  const Tensor<1> large = Tensor<1>::ones({16 << 20}, cpu);
  EXPECT_EQ(large.to_vector<float>().back(), 1);
  struct Output {
    Tensor<0> loss;
  };
  memory.update(Output{Tensor<0>::ones({}, cpu)});
  const double held = static_cast<double>(cpu.memory().reserved) / (1 << 30);
  EXPECT_NEAR(memory.value(), held, 0.01);
  EXPECT_GE(held, 0.0625);
  memory.update(large);  // too soon for another look
  EXPECT_EQ(memory.looks, 1);
}

TEST_F(Machine, ItemsAreCountedFromTheFirstBatchOn) {
  metric::ItemsPerSecond speed;
  speed.add(100, 10);
  EXPECT_THROW(speed.value(), ArgumentError);
  speed.add(30, 11);
  speed.add(50, 12);
  EXPECT_DOUBLE_EQ(speed.value(), 40);
  // Another process goes on, whose clock is another one.
  speed.last.process -= 1;
  speed.add(1000, 3);
  EXPECT_DOUBLE_EQ(speed.value(), 40);
  speed.add(40, 4);
  EXPECT_DOUBLE_EQ(speed.value(), 40);
}

}  // namespace
}  // namespace kiln
