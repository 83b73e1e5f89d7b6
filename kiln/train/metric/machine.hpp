// Metrics of the machine: they read sensors when a batch is measured, at most ten times a second, and ignore the batch.
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

/// The last reading of a metric. It is no sum, and is invalid in another process, such as a resumed run.
struct LastReading {
  double seconds = 0, busy = 0, all = 0;  // the CpuSeconds at that time
  double process = 0;                     // the process that read it; 0: none

  bool is_own() const;
  void take(double now);
  void merge(const LastReading&) {}
};

/// Is it time for another reading?
bool is_due(const LastReading& last, double now);

/// The device of a step's output.
template <class Output>
Device device_of(const Output& output) {
  if constexpr (requires { output.loss.device(); }) return output.loss.device();
  else return output.device();
}

/// The percentage of all CPUs that were busy, from the beginning to the last batch.
struct CpuUse {
  Total busy{}, all{};
  LastReading last{};

  void begin() { look(); }
  template <class Output>
  void update(const Output&) {
    look();
  }
  void look();
  double value() const;
};

/// Gibibytes of memory that the process uses: the mean of the readings.
struct CpuMemory {
  Total bytes{}, looks{};
  LastReading last{};

  template <class Output>
  void update(const Output&) {
    look();
  }
  void look();
  double value() const;
};

/// Degrees Celsius of the hottest CPU sensor: the mean of the readings. Many virtual machines have none; then value()
/// throws an error that says so.
struct CpuTemperature {
  Total degrees{}, looks{};
  LastReading last{};

  template <class Output>
  void update(const Output&) {
    look();
  }
  void look();
  double value() const;
};

/// Gibibytes of memory allocated on the device of a step's loss, the device's own or the system's (Device::memory): the
/// mean of the readings. How much of it is in use between two steps says little: during a step most of it is.
struct DeviceMemory {
  Total bytes{}, looks{};
  LastReading last{};

  template <class Output>
  void update(const Output& output) {
    look(device_of(output));
  }
  void look(const Device& device);
  double value() const;
};

/// The percentage of time in which the GPU of a step's loss was busy: the mean of its driver's readings (NVIDIA only).
/// For other devices, and if the driver gives no readings, value() throws an error that says so.
struct DeviceUse {
  Total percent{}, looks{};
  LastReading last{};

  template <class Output>
  void update(const Output& output) {
    look(device_of(output));
  }
  void look(const Device& device);
  double value() const;
};

/// Degrees Celsius of that GPU, in the same way.
struct DeviceTemperature {
  Total degrees{}, looks{};
  LastReading last{};

  template <class Output>
  void update(const Output& output) {
    look(device_of(output));
  }
  void look(const Device& device);
  double value() const;
};

/// Items per second since begin(); without begin(), since the end of the first batch, which is not counted, as its
/// beginning is unknown.
struct ItemsPerSecond {
  Total items{}, seconds{};
  LastReading last{};

  void begin() { last.take(sensor::seconds_now()); }
  template <class Output>
  void update(const Output& output) {
    add(items_of(output), sensor::seconds_now());
  }
  void add(std::int64_t more, double now);
  double value() const;
};

/// Batches per second, in the same way: the speed of the training loop.
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
