// Makes errors of memory name the operation in which they happened.
#pragma once
#include <string>

#include "kiln/core/parallel.hpp"

namespace kiln::cpu {

/// Calls `body`. A MemoryError in it gets name() as its beginning. std::bad_alloc becomes such a MemoryError, after
/// memory that is kept for later has been given back. A build without exceptions only calls `body`.
void with_op_in_memory_error(FunctionRef<std::string()> name, FunctionRef<void()> body);

}  // namespace kiln::cpu
