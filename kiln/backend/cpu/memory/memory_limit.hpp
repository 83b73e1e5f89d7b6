// The environment's settings for the memory of the device "cpu", which are read when the program starts.
#pragma once
#include <cstddef>
#include <optional>

namespace kiln::cpu {

/// Returns the environment's KILN_MEMORY_LIMIT, or default_memory_limit() of the machine and the process's control
/// group. Throws ArgumentError where the former is not a number of bytes like "1500000000", "512M" or "2G".
std::size_t memory_limit_at_start();

/// Returns seven eighths of what the machine has or a control group leaves the process, whichever is smaller.
std::size_t default_memory_limit(std::size_t machine, std::optional<std::size_t> group);

/// Whether KILN_POISON is 1: every block is then filled with NaN (all bits set) before it is handed out, so that a
/// kernel that reads unwritten memory is found. Throws ArgumentError where the variable is neither 0 nor 1.
bool memory_is_poisoned();

}  // namespace kiln::cpu
