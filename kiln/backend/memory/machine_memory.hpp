#pragma once
#include <cstddef>

namespace kiln {

/// The bytes of memory that the machine has, or that a WebAssembly module can grow to; SIZE_MAX where nobody knows.
std::size_t machine_memory();

}  // namespace kiln
