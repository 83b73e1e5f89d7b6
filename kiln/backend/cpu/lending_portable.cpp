#include "kiln/backend/cpu/lending.hpp"

namespace kiln::cpu {

void register_lending() {}

}  // namespace kiln::cpu
