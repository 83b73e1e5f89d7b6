// Products of bfloat16 matrices where the processor has instructions for whole tiles of them.
#pragma once

namespace bench {

/// Adds up products on the calling thread for some milliseconds; how many floating-point operations that was, or 0 where
/// there are no tiles.
double multiply_tiles();

}  // namespace bench
