// Where there are no exceptions, the first error ends the program, and no value is left that failed.
#include <cstdlib>

#include "kiln/ops/failure.hpp"

namespace kiln {

void throw_failure(const Failure&) { std::abort(); }
Ref<PendingRead> failed_read(Ref<Failure>) { std::abort(); }

}  // namespace kiln
