// The memory limits that Linux's control groups set for a process, as for containers and services.
#pragma once
#include <cstddef>
#include <filesystem>
#include <optional>

namespace kiln {

/// Returns the least memory.max (version 2) or memory.limit_in_bytes (version 1) of the process's group and of the
/// groups above it, as far as they are visible; nothing where none is limited. `process` is the process's folder in
/// /proc, whose files cgroup and mountinfo locate the groups.
std::optional<std::size_t> control_group_memory(const std::filesystem::path& process = "/proc/self");

}  // namespace kiln
