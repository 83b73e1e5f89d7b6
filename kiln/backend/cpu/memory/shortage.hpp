// Errors of memory say which operation they happened to.
#pragma once
#include <string>

#include "kiln/core/parallel.hpp"

namespace kiln::cpu {

/// Calls `body`. A MemoryError in it gets name() for its beginning, and so does a MemoryError made of std::bad_alloc,
/// for which memory that is kept for later is given back first. A build without exceptions calls `body` and no more.
void naming_shortage(FunctionRef<std::string()> name, FunctionRef<void()> body);

}  // namespace kiln::cpu
