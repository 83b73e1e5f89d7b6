#include "kiln/backend/cpu/memory/op_memory_error.hpp"

namespace kiln::cpu {

void with_op_in_memory_error(FunctionRef<std::string()>, FunctionRef<void()> body) { body(); }

}  // namespace kiln::cpu
