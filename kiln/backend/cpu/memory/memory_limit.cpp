#include "kiln/backend/cpu/memory/memory_limit.hpp"

#include <algorithm>

#include "kiln/backend/memory/control_group.hpp"
#include "kiln/backend/memory/environment_limit.hpp"
#include "kiln/backend/memory/machine_memory.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/core/setting/setting.hpp"

namespace kiln::cpu {

std::size_t memory_limit_at_start() {
  const auto wish = environment_memory_limit();
  return wish ? *wish : default_memory_limit(machine_memory(), control_group_memory());
}

// An eighth is left for the program and the system: an allocation beyond the limit gets an error sentence, but a
// process that takes all of the memory is killed without one.
std::size_t default_memory_limit(std::size_t machine, std::optional<std::size_t> group) {
  const std::size_t least = std::min(machine, group.value_or(machine));
  return std::max<std::size_t>(least - least / 8, 1);
}

bool memory_is_poisoned() { return is_set("KILN_POISON", false); }

}  // namespace kiln::cpu
