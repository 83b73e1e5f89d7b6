// The number of cores that a process may use.
#pragma once
#include <filesystem>

namespace kiln {

/// Returns the number of cores that this process may run on, or its container's quota of processor time, rounded up,
/// where that is smaller; at least 1.
int available_cores();

/// Returns the processor time, in cores, that the control groups of this process allow (Linux, cgroup v1 and v2:
/// cpu.max or cpu.cfs_quota_us of its group and of those above); 0 where nothing limits it. `root` is the folder of
/// /proc and /sys.
double core_quota(const std::filesystem::path& root = "/");

}  // namespace kiln
