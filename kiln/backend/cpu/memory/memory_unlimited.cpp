// A portable build knows neither the environment nor the size of the machine's memory.
#include <cstdint>

#include "kiln/backend/cpu/memory/memory_limit.hpp"

namespace kiln::cpu {

std::size_t memory_limit_at_start() { return SIZE_MAX / 2; }
bool memory_is_poisoned() { return false; }

}  // namespace kiln::cpu
