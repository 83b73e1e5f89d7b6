// A loop's dimensions as few as possible: those of size 1 are left out, and neighbours that every operand steps through
// as if they were one are one.
#pragma once
#include "kiln/compile/program.hpp"

namespace kiln::compile {

Loop coalesced(Loop loop);

}  // namespace kiln::compile
