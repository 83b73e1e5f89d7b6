// What whoever starts a program says of the memory of its devices.
#pragma once
#include <cstddef>
#include <optional>

namespace kiln {

/// KILN_MEMORY_LIMIT, in bytes; none where nothing is said. Throws ArgumentError where it is not a number of bytes like
/// "1500000000", "512M" or "2G".
std::optional<std::size_t> wished_memory_limit();

}  // namespace kiln
