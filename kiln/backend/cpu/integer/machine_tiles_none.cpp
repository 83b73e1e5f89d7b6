// For compilers and processors without special tiles.
#include "kiln/backend/cpu/integer/tiles.hpp"

namespace kiln::cpu::integer {

std::span<const Tiles* const> machine_tiles() { return {}; }

}  // namespace kiln::cpu::integer
