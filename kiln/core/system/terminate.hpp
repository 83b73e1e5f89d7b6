// A program's output is seen also if an error ends the program.
#pragma once

namespace kiln {

/// Has std::terminate() write out what the standard output has buffered, which an abort would lose, before the handler that was set
/// until the first call runs.
void write_out_at_terminate();

}  // namespace kiln
