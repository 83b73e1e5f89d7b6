// What Linux's control groups leave a process of the machine's memory, as containers and services are limited.
#pragma once
#include <cstddef>
#include <filesystem>
#include <optional>

namespace kiln {

/// The least memory.max (version 2) or memory.limit_in_bytes (version 1) of the process's group and of the groups that
/// hold it, as far as they can be seen; nothing where none is limited. `process` is the process's folder in /proc, whose
/// files cgroup and mountinfo say where the groups are.
std::optional<std::size_t> control_group_memory(const std::filesystem::path& process = "/proc/self");

}  // namespace kiln
