// Traces on systems that cannot unwind the stack: they hold no calls.
#include "kiln/core/error/trace.hpp"

namespace kiln {

Trace Trace::here() { return {}; }
std::string lines_of(const Trace&) { return {}; }

}  // namespace kiln
