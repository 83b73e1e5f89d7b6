// What the machine does meanwhile, as metrics: they look at it when a batch is measured, at most ten times a second, and do not
// ask what the batch was.
//
//   learner.metric(metric::CpuUse{}).metric(metric::DeviceMemory{}).metric(metric::ItemsPerSecond{});
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "kiln/ops/device.hpp"
#include "kiln/train/metric/metric.hpp"
#include "kiln/train/output.hpp"

namespace kiln::metric {

/// Of when a metric looked last. It is no sum, and means nothing to another process, which a training that is resumed is.
struct Look {
  double seconds = 0, busy = 0, all = 0;  // what CpuSeconds were then
  double process = 0;                     // that looked; 0: none did

  bool is_own() const;
  void take(double now);
  void merge(const Look&) {}
};

/// Seconds since some moment that stays the same.
double seconds_now();
/// Was the last look so long ago that it is time for another?
bool is_due(const Look& last, double now);

/// Seconds in which the machine's processors worked, and all there were, since it was started (Linux: /proc/stat). Nothing where
/// the system does not say.
struct CpuSeconds {
  double busy = 0, all = 0;
};
std::optional<CpuSeconds> cpu_seconds(const std::filesystem::path& stat = "/proc/stat");
/// Bytes of memory that this process holds (Linux: /proc/self/statm).
std::optional<double> resident_bytes(const std::filesystem::path& statm = "/proc/self/statm");
/// The hottest of the processor's sensors in degrees Celsius (Linux: hwmon, else thermal zones).
std::optional<double> cpu_temperature(const std::filesystem::path& sys = "/sys/class");

/// Percent of all processors that worked, between the first and the last batch.
struct CpuUse {
  Total busy{}, all{};
  Look last{};

  template <class Output>
  void update(const Output&) {
    look();
  }
  void look();
  double value() const;
};

/// Gibibytes of memory that the process holds: the mean of what was seen.
struct CpuMemory {
  Total bytes{}, looks{};
  Look last{};

  template <class Output>
  void update(const Output&) {
    look();
  }
  void look();
  double value() const;
};

/// Degrees Celsius of the hottest of the processor's sensors: the mean of what was seen. Many virtual machines have none, of
/// which it says so.
struct CpuTemperature {
  Total degrees{}, looks{};
  Look last{};

  template <class Output>
  void update(const Output&) {
    look();
  }
  void look();
  double value() const;
};

/// Gibibytes that the device of a step's loss holds, of its own memory or of the system's (Device::memory): the mean of what was
/// seen. What of it is in use between steps says little: most is, while one runs.
struct DeviceMemory {
  Total bytes{}, looks{};
  Look last{};

  template <class Output>
  void update(const Output& output) {
    if constexpr (requires { output.loss.device(); }) look(output.loss.device());
    else look(output.device());
  }
  void look(const Device& device);
  double value() const;
};

/// Items a second, from the first batch on, which itself does not count, as nobody knows when it began.
struct ItemsPerSecond {
  Total items{}, seconds{};
  Look last{};

  template <class Output>
  void update(const Output& output) {
    add(items_of(output), seconds_now());
  }
  void add(std::int64_t more, double now);
  double value() const;
};

}  // namespace kiln::metric
