// The limit that a program's environment sets for the memory of its devices.
#pragma once
#include <cstddef>
#include <optional>

namespace kiln {

/// Returns KILN_MEMORY_LIMIT in bytes; nothing where it is not set. Throws ArgumentError unless it is a number of bytes
/// like "1500000000", "512M" or "2G".
std::optional<std::size_t> environment_memory_limit();

}  // namespace kiln
