// The handler that a build without exceptions calls in place of throwing.
#pragma once
#include "kiln/core/error/error.hpp"

namespace kiln {

using ErrorHandler = void (*)(ErrorKind kind, const std::string& message);

/// Installs the function that raise() calls. It should not return (if it does, the program aborts).
void set_error_handler(ErrorHandler handler);

}  // namespace kiln
