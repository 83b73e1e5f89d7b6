// Where exceptions are switched off, running out of memory ends the program.
#include <cstdlib>

#include "kiln/core/error/shortage.hpp"

namespace kiln {

void rethrow_shortage(std::string_view) { std::abort(); }
void telling_shortage(std::string_view, FunctionRef<void()> body) { body(); }

}  // namespace kiln
