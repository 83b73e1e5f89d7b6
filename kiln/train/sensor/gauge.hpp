// What the machine does while a training runs, in a line.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "kiln/train/sensor/gpu.hpp"
#include "kiln/train/sensor/host.hpp"

namespace kiln {

/// Looks at most once a second.
class Gauge {
 public:
  Gauge() = default;
  /// Of the processor, and of those of the devices that are something else.
  explicit Gauge(std::vector<Device> devices) : devices_(std::move(devices)) {}

  /// Whether the line is another one.
  bool look();
  /// "cpu 87 %, 1.2 GiB   cuda 12.3 GiB, 93 %, 61 °C"; what nobody tells is left out.
  const std::string& line() const { return line_; }

 private:
  std::vector<Device> devices_;
  double looked_ = 0;  // by seconds_now()
  sensor::CpuSeconds cpu_{};
  std::string line_;
};

}  // namespace kiln
