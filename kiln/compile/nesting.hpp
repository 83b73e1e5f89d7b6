// A loop's dimensions as few as possible: those of size 1 are left out, and neighbours that every operand steps through
// as if they were one are one.
#pragma once
#include "kiln/compile/program.hpp"

namespace kiln::compile {

Loop coalesced(Loop loop);

/// Whether a written buffer is read at other places: no pointer is then the only one to its memory.
bool overlaps(const Loop& loop);

/// How many steps of the dimension around the innermost one an Update takes at once, so that the sums of a row are read and
/// written that many times less often. It divides the dimension's size.
std::int64_t steps_at_once(const Loop& loop);

}  // namespace kiln::compile
