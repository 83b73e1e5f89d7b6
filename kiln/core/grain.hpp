// The size of a chunk of parallel work. Kernels choose the size that is worth a thread; tests may lower it, so that
// small operands are split as large ones are.
#pragma once
#include "kiln/core/parallel.hpp"

namespace kiln {

/// A parallel_for whose chunks have `grain` elements even when a test limits them, for a body that depends on chunk
/// boundaries; its caller applies limited_grain().
void parallel_chunks(std::int64_t count, std::int64_t grain, ChunkBody body);
/// Returns `grain`, a multiple of `unit`, limited to the number of units that a test allows.
std::int64_t limited_grain(std::int64_t grain, std::int64_t unit = 1);

/// For tests: limits every chunk of a parallel_for to `most` elements from now on; 0 removes the limit, as at the start
/// of a program (unless KILN_GRAIN in the environment sets one). Must not be called while parallel work is running.
void limit_grain(std::int64_t most);
/// For tests: the number of parallel_for calls so far that had more than one chunk, however many threads took part.
std::int64_t parallel_region_count();

}  // namespace kiln
