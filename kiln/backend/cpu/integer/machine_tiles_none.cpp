// For compilers and processors that have no tiles of their own.
#include "kiln/backend/cpu/integer/tiles.hpp"

namespace kiln::cpu::integer {

std::span<const Tiles* const> machine_tiles() { return {}; }

}  // namespace kiln::cpu::integer
