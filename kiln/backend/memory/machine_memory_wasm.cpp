#include <emscripten/heap.h>

#include "kiln/backend/memory/machine_memory.hpp"

namespace kiln {

std::size_t machine_memory() { return emscripten_get_heap_max(); }

}  // namespace kiln
