#include "kiln/train/metric/machine.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <utility>

namespace kiln::metric {
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

/// Calls use(entry) for each of a directory's; none where it cannot be read.
template <class Use>
void for_each_in(const fs::path& directory, Use use) {
  std::error_code problem;
  for (fs::directory_iterator at(directory, problem), end; !problem && at != end; at.increment(problem))
    use(at->path());
}

constexpr double kThousandths = 1e-3;  // sensors say degrees in thousandths

}  // namespace

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

namespace {

/// A number that no other process has: when this one first asked for it.
double this_process() {
  static const double began =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  return began;
}

}  // namespace

bool Look::is_own() const { return process == this_process(); }
void Look::take(double now) {
  seconds = now;
  process = this_process();
}

bool is_due(const Look& last, double now) {
  constexpr double kApart = 0.1;
  return !last.is_own() || now - last.seconds >= kApart;
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

namespace {

/// What `reading` says of the machine, where it is time for another look and it says something.
template <class Reading>
void add_reading(Total& sum, Total& looks, Look& last, Reading reading) {
  const double now = seconds_now();
  if (!is_due(last, now)) return;
  last.take(now);
  if (const auto seen = reading()) {
    sum += *seen;
    looks += 1;
  }
}

}  // namespace

void CpuUse::look() {
  const double now = seconds_now();
  if (!is_due(last, now)) return;
  if (const auto seen = cpu_seconds()) {
    if (last.is_own()) {
      busy += seen->busy - last.busy;
      all += seen->all - last.all;
    }
    last.busy = seen->busy;
    last.all = seen->all;
  }
  last.take(now);
}

double CpuUse::value() const { return 100 * mean("cpu use", busy, all); }

void CpuMemory::look() {
  add_reading(bytes, looks, last, [] { return resident_bytes(); });
}

double CpuMemory::value() const { return mean("cpu memory", bytes, looks) / (1 << 30); }

void CpuTemperature::look() {
  add_reading(degrees, looks, last, [] { return cpu_temperature(); });
}

double CpuTemperature::value() const {
  require<ArgumentError>(looks > 0 || last.process == 0, "cpu temperature: this machine has no sensor that tells it");
  return mean("cpu temperature", degrees, looks);
}

void DeviceMemory::look(const Device& device) {
  add_reading(bytes, looks, last, [&] { return std::optional(static_cast<double>(device.memory().reserved)); });
}

double DeviceMemory::value() const { return mean("device memory", bytes, looks) / (1 << 30); }

void ItemsPerSecond::add(std::int64_t more, double now) {
  if (last.is_own()) {
    items += static_cast<double>(more);
    seconds += now - last.seconds;
  }
  last.take(now);
}

double ItemsPerSecond::value() const { return mean("items per second", items, seconds); }

}  // namespace kiln::metric
