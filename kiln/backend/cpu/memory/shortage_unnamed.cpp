#include "kiln/backend/cpu/memory/shortage.hpp"

namespace kiln::cpu {

void naming_shortage(FunctionRef<std::string()>, FunctionRef<void()> body) { body(); }

}  // namespace kiln::cpu
