// Where exceptions are switched off, running out of memory ends the program.
#include <cstdlib>

#include "kiln/core/error/memory_error.hpp"

namespace kiln {

void rethrow_as_memory_error(std::string_view) { std::abort(); }
void with_memory_error(std::string_view, FunctionRef<void()> body) { body(); }

}  // namespace kiln
