// How much memory the device "cpu" may hold when the program starts.
#pragma once
#include <cstddef>

namespace kiln::cpu {

/// The environment's KILN_MEMORY_LIMIT, or what the machine has. Throws ArgumentError where the former is not a number
/// of bytes like "1500000000", "512M" or "2G".
std::size_t memory_limit_at_start();

}  // namespace kiln::cpu
