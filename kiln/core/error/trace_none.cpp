// Traces on systems that cannot unwind the stack: they hold no calls.
#include "kiln/core/error/trace.hpp"

namespace kiln {

Trace Trace::here() { return {}; }
std::string lines_of(const Trace&) { return {}; }
std::string detail::lines_of_error() { return {}; }

CalledFrom::CalledFrom(const Trace* calls) : before_calls_(calls), before_is_set_(false) {}
CalledFrom::~CalledFrom() = default;
Trace CalledFrom::calls() { return {}; }

}  // namespace kiln
