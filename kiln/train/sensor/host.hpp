// What the system says of the machine and of this process.
#pragma once
#include <filesystem>
#include <optional>

namespace kiln::sensor {

/// Seconds since some moment that stays the same.
double seconds_now();
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

}  // namespace kiln::sensor
