#include "kiln/train/sensor/host.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>

namespace kiln::sensor {
namespace {

namespace fs = std::filesystem;

std::optional<double> number_in(const fs::path& file) {
  std::ifstream in(file);
  double number = 0;
  if (in >> number) return number;
  return std::nullopt;
}
std::string word_in(const fs::path& file) {
  std::ifstream in(file);
  std::string word;
  in >> word;
  return word;
}

/// Calls use(entry) for each entry of a directory; none if it cannot be read.
template <class Use>
void for_each_in(const fs::path& directory, Use use) {
  std::error_code problem;
  for (fs::directory_iterator at(directory, problem), end; !problem && at != end; at.increment(problem))
    use(at->path());
}

constexpr double kThousandths = 1e-3;  // sensors give thousandths of a degree

}  // namespace

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::optional<CpuSeconds> cpu_seconds(const fs::path& stat) {
  // "cpu  user nice system idle iowait irq softirq steal ...", in ticks (proc(5)).
  std::ifstream in(stat);
  std::string name;
  if (!(in >> name) || name != "cpu") return std::nullopt;
  CpuSeconds seconds;
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  double number = 0;
  for (int i = 0; i < 8 && in >> number; ++i) {
    seconds.all += number / ticks;
    if (i != 3 && i != 4) seconds.busy += number / ticks;
  }
  return seconds;
}

std::optional<double> resident_bytes(const fs::path& statm) {
  std::ifstream in(statm);
  double size = 0, resident = 0;
  if (!(in >> size >> resident)) return std::nullopt;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

std::optional<double> cpu_temperature(const fs::path& sys) {
  std::optional<double> hottest;
  const auto see = [&](const fs::path& file) {
    if (const auto degrees = number_in(file))
      hottest = std::max(hottest.value_or(*degrees * kThousandths), *degrees * kThousandths);
  };
  for_each_in(sys / "hwmon", [&](const fs::path& chip) {
    const std::string name = word_in(chip / "name");
    if (name != "coretemp" && name != "k10temp" && name != "zenpower" && name != "cpu_thermal") return;
    for_each_in(chip, [&](const fs::path& file) {
      const std::string sensor = file.filename().string();
      if (sensor.starts_with("temp") && sensor.ends_with("_input")) see(file);
    });
  });
  if (!hottest) for_each_in(sys / "thermal", [&](const fs::path& zone) { see(zone / "temp"); });
  return hottest;
}

}  // namespace kiln::sensor
