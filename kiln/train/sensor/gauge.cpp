#include "kiln/train/sensor/gauge.hpp"

#include <cstdio>
#include <optional>
#include <string_view>

#include "kiln/core/error/error.hpp"

namespace kiln {
namespace {

/// "name 1.2 GiB, 93 %, 61 °C"; empty if there are no readings, which are added to `values`.
std::string words_of(std::string_view name, std::optional<double> bytes, std::optional<double> use,
                     std::optional<double> degrees, std::vector<std::pair<std::string, double>>& values) {
  std::string words;
  const auto add = [&](const char* format, const std::optional<double>& number, double unit) {
    if (!number) return;
    const std::string_view of = format;
    values.emplace_back(text(name, of.ends_with("GiB") ? " GiB" : of.ends_with("%") ? " %" : " °C"), *number / unit);
    char figure[48];
    std::snprintf(figure, sizeof figure, format, *number / unit);
    words += (words.empty() ? text(name, ' ') : ", ") + figure;
  };
  add("%.1f GiB", bytes, 1 << 30);
  add("%.0f %%", use, 1);
  add("%.0f °C", degrees, 1);
  return words;
}

}  // namespace

bool Gauge::look() {
  const double now = sensor::seconds_now();
  if (looked_ != 0 && now - looked_ < 1) return false;
  const bool first = looked_ == 0;
  looked_ = now;
  std::optional<double> use;
  if (const auto seen = sensor::cpu_seconds()) {
    if (!first && seen->all > cpu_.all) use = 100 * (seen->busy - cpu_.busy) / (seen->all - cpu_.all);
    cpu_ = *seen;
  }
  values_.clear();
  std::string line = words_of("cpu", sensor::resident_bytes(), use, sensor::cpu_temperature(), values_);
  for (const Device& device : devices_) {
    const std::string name = device.name();
    if (name == "cpu") continue;
    const sensor::GpuState gpu = sensor::gpu_state(device);
    line += (line.empty() ? "" : "   ") +
            words_of(name, static_cast<double>(device.memory().reserved), gpu.use, gpu.degrees, values_);
  }
  return std::exchange(line_, std::move(line)) != line_;
}

}  // namespace kiln
