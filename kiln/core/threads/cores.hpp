// How many cores a process may use.
#pragma once
#include <filesystem>

namespace kiln {

/// At least 1: the cores that this process may run on, or fewer where a container's quota gives it less processor time
/// than those have, rounded up.
int available_cores();

/// How many cores' time the control groups of this process leave it (Linux, cgroup v1 and v2: cpu.max or cpu.cfs_quota_us
/// of its group and of those above); 0 where nothing limits it. `root` is where /proc and /sys stand.
double core_quota(const std::filesystem::path& root = "/");

}  // namespace kiln
