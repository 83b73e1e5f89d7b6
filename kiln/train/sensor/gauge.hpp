// The state of the machine during training, as a line of text.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "kiln/train/sensor/gpu.hpp"
#include "kiln/train/sensor/host.hpp"

namespace kiln {

/// Reads sensors at most once a second.
class Gauge {
 public:
  Gauge() = default;
  /// Measures the CPU, and those devices that are not the CPU.
  explicit Gauge(std::vector<Device> devices) : devices_(std::move(devices)) {}

  /// Takes a reading if it is time; returns whether the line has changed.
  bool look();
  /// "cpu 87 %, 1.2 GiB   cuda 12.3 GiB, 93 %, 61 °C", without readings that are not available.
  const std::string& line() const { return line_; }
  /// The readings as numbers: "cpu %", "cpu GiB", "cuda °C".
  const std::vector<std::pair<std::string, double>>& values() const { return values_; }

 private:
  std::vector<Device> devices_;
  double looked_ = 0;  // by seconds_now()
  sensor::CpuSeconds cpu_{};
  std::string line_;
  std::vector<std::pair<std::string, double>> values_;
};

}  // namespace kiln
