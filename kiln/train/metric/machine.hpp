// What the machine does meanwhile, as metrics: they look at it when a batch is measured, at most ten times a second, and do not
// ask what the batch was.
//
//   learner.metric(metric::CpuUse{}).metric(metric::DeviceMemory{}).metric(metric::ItemsPerSecond{});
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

#include "kiln/ops/device.hpp"
#include "kiln/train/metric/metric.hpp"
#include "kiln/train/output.hpp"
#include "kiln/train/sensor/gpu.hpp"
#include "kiln/train/sensor/host.hpp"

namespace kiln::metric {

/// Of when a metric looked last. It is no sum, and means nothing to another process, which a training that is resumed is.
struct Look {
  double seconds = 0, busy = 0, all = 0;  // what CpuSeconds were then
  double process = 0;                     // that looked; 0: none did

  bool is_own() const;
  void take(double now);
  void merge(const Look&) {}
};

/// Was the last look so long ago that it is time for another?
bool is_due(const Look& last, double now);

/// Where a step's output lies.
template <class Output>
Device device_of(const Output& output) {
  if constexpr (requires { output.loss.device(); }) return output.loss.device();
  else return output.device();
}

/// Percent of all processors that worked, from the beginning to the last batch.
struct CpuUse {
  Total busy{}, all{};
  Look last{};

  void begin() { look(); }
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
    look(device_of(output));
  }
  void look(const Device& device);
  double value() const;
};

/// Percent of the time in which the GPU of a step's loss worked: the mean of what its driver said (NVIDIA's alone). Of other
/// devices, and where the driver does not say, it says so.
struct DeviceUse {
  Total percent{}, looks{};
  Look last{};

  template <class Output>
  void update(const Output& output) {
    look(device_of(output));
  }
  void look(const Device& device);
  double value() const;
};

/// Its degrees Celsius, likewise.
struct DeviceTemperature {
  Total degrees{}, looks{};
  Look last{};

  template <class Output>
  void update(const Output& output) {
    look(device_of(output));
  }
  void look(const Device& device);
  double value() const;
};

/// Items a second since begin(); without it from the first batch on, which itself does not count, as nobody knows when it
/// began.
struct ItemsPerSecond {
  Total items{}, seconds{};
  Look last{};

  void begin() { last.take(sensor::seconds_now()); }
  template <class Output>
  void update(const Output& output) {
    add(items_of(output), sensor::seconds_now());
  }
  void add(std::int64_t more, double now);
  double value() const;
};

/// Batches a second, likewise: of training, the speed of the loop.
struct BatchesPerSecond {
  ItemsPerSecond batches{};

  void begin() { batches.begin(); }
  template <class Output>
  void update(const Output&) {
    batches.add(1, sensor::seconds_now());
  }
  double value() const;
};

}  // namespace kiln::metric
