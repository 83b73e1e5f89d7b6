// What a program has printed is seen also if an error ends it.
#pragma once

namespace kiln {

/// From the first call on, std::terminate() writes out what the standard output has buffered, before the handler that was set until
/// then runs. An abort would lose it.
void write_out_at_terminate();

}  // namespace kiln
