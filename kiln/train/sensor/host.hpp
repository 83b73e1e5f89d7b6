// Readings of the machine and of this process from the system.
#pragma once
#include <filesystem>
#include <optional>

namespace kiln::sensor {

/// Seconds since a fixed point in time.
double seconds_now();
/// Seconds in which the machine's CPUs were busy, and in all, since it was started (Linux: /proc/stat). None if the
/// system does not give them.
struct CpuSeconds {
  double busy = 0, all = 0;
};
std::optional<CpuSeconds> cpu_seconds(const std::filesystem::path& stat = "/proc/stat");
/// Bytes of memory that this process uses (Linux: /proc/self/statm).
std::optional<double> resident_bytes(const std::filesystem::path& statm = "/proc/self/statm");
/// The temperature of the hottest CPU sensor in degrees Celsius (Linux: hwmon, else thermal zones).
std::optional<double> cpu_temperature(const std::filesystem::path& sys = "/sys/class");

}  // namespace kiln::sensor
