// This file takes the place of the special tiles where compilers or processors have none.
#include "kiln/backend/cpu/integer/tiles.hpp"

namespace kiln::cpu::integer {

std::span<const Tiles* const> machine_tiles() { return {}; }

}  // namespace kiln::cpu::integer
