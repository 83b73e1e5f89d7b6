// Raising without exceptions: an application on a microcontroller installs a handler (log, reset);
// without one, and if the handler returns, the program aborts.
#include "kiln/core/error/error_handler.hpp"

#include <cstdlib>

namespace kiln {
namespace {
ErrorHandler handler = nullptr;
}

void set_error_handler(ErrorHandler new_handler) { handler = new_handler; }

void raise(ErrorKind kind, const std::string& message) {
  if (handler) handler(kind, message);
  std::abort();
}

}  // namespace kiln
