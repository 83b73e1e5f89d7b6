// What the environment says of the memory of the device "cpu" when the program starts.
#pragma once
#include <cstddef>

namespace kiln::cpu {

/// The environment's KILN_MEMORY_LIMIT, or what the machine has. Throws ArgumentError where the former is not a number
/// of bytes like "1500000000", "512M" or "2G".
std::size_t memory_limit_at_start();

/// KILN_POISON=1: every block is filled with NaN (all bits set) before it is handed out, so that a kernel that reads what
/// nobody wrote is found out. Throws ArgumentError where the variable is neither 0 nor 1.
bool memory_is_poisoned();

}  // namespace kiln::cpu
