// What the environment says of the memory of the device "cpu" when the program starts.
#pragma once
#include <cstddef>
#include <optional>

namespace kiln::cpu {

/// The environment's KILN_MEMORY_LIMIT, or default_memory_limit() of the machine and the process's control group. Throws
/// ArgumentError where the former is not a number of bytes like "1500000000", "512M" or "2G".
std::size_t memory_limit_at_start();

/// Seven eighths of the smaller of what the machine has and what a control group leaves the process.
std::size_t default_memory_limit(std::size_t machine, std::optional<std::size_t> group);

/// KILN_POISON=1: every block is filled with NaN (all bits set) before it is handed out, so that a kernel that reads what
/// nobody wrote is found out. Throws ArgumentError where the variable is neither 0 nor 1.
bool memory_is_poisoned();

}  // namespace kiln::cpu
