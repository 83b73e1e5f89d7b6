#include "kiln/train/metric/machine.hpp"

#include <algorithm>
#include <chrono>

namespace kiln::metric {

namespace {

/// A number that identifies this process: the time of the first call.
double this_process() {
  static const double began =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  return began;
}

}  // namespace

bool LastReading::is_own() const { return process == this_process(); }
void LastReading::take(double now) {
  seconds = now;
  process = this_process();
}

bool is_due(const LastReading& last, double now) {
  constexpr double kApart = 0.1;
  return !last.is_own() || now - last.seconds >= kApart;
}

namespace {

/// Adds a `reading` of the machine, if it is time for another and there is one.
template <class Reading>
void add_reading(Total& sum, Total& looks, LastReading& last, Reading reading) {
  const double now = sensor::seconds_now();
  if (!is_due(last, now)) return;
  last.take(now);
  if (const auto seen = reading()) {
    sum += *seen;
    looks += 1;
  }
}

/// Throws ArgumentError if readings were tried and none was available.
void require_reading(std::string_view name, double looks, const LastReading& last) {
  require<ArgumentError>(looks > 0 || last.process == 0, name, ": this machine has no sensor for it");
}

}  // namespace

void CpuUse::look() {
  const double now = sensor::seconds_now();
  if (!is_due(last, now)) return;
  if (const auto seen = sensor::cpu_seconds()) {
    if (last.is_own()) {
      busy += seen->busy - last.busy;
      all += seen->all - last.all;
    }
    last.busy = seen->busy;
    last.all = seen->all;
  }
  last.take(now);
}

// Rounding errors of long sums must not give more than 100 percent.
double CpuUse::value() const { return std::min(100 * mean("cpu use", busy, all), 100.0); }

void CpuMemory::look() {
  add_reading(bytes, looks, last, [] { return sensor::resident_bytes(); });
}

double CpuMemory::value() const { return mean("cpu memory", bytes, looks) / (1 << 30); }

void CpuTemperature::look() {
  add_reading(degrees, looks, last, [] { return sensor::cpu_temperature(); });
}

double CpuTemperature::value() const {
  require_reading("cpu temperature", looks, last);
  return mean("cpu temperature", degrees, looks);
}

void DeviceMemory::look(const Device& device) {
  add_reading(bytes, looks, last, [&] { return std::optional(static_cast<double>(device.memory().reserved)); });
}

double DeviceMemory::value() const { return mean("device memory", bytes, looks) / (1 << 30); }

void DeviceUse::look(const Device& device) {
  add_reading(percent, looks, last, [&] { return sensor::gpu_state(device).use; });
}

double DeviceUse::value() const {
  require_reading("device use", looks, last);
  return mean("device use", percent, looks);
}

void DeviceTemperature::look(const Device& device) {
  add_reading(degrees, looks, last, [&] { return sensor::gpu_state(device).degrees; });
}

double DeviceTemperature::value() const {
  require_reading("device temperature", looks, last);
  return mean("device temperature", degrees, looks);
}

void ItemsPerSecond::add(std::int64_t more, double now) {
  if (last.is_own()) {
    items += static_cast<double>(more);
    seconds += now - last.seconds;
  }
  last.take(now);
}

double ItemsPerSecond::value() const { return mean("items per second", items, seconds); }

double BatchesPerSecond::value() const { return mean("batches per second", batches.items, batches.seconds); }

}  // namespace kiln::metric
