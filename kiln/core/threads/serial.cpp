// Implements parallel.hpp without threads: the same chunks, in order, on the caller.
#include "kiln/core/error/error.hpp"
#include "kiln/core/grain.hpp"

namespace kiln {

void parallel_for(std::int64_t count, std::int64_t grain, ChunkBody body) { serial_for(count, grain, body); }

void parallel_chunks(std::int64_t count, std::int64_t grain, ChunkBody body) { serial_for(count, grain, body); }

std::int64_t limited_grain(std::int64_t grain, std::int64_t) { return grain; }

void limit_grain(std::int64_t) {}

std::int64_t parallel_region_count() { return 0; }

int num_threads() { return 1; }

void set_num_threads(int threads) {
  require<ArgumentError>(threads >= 1, "set_num_threads: at least 1, got ", threads);
}

Threads::Threads(int threads) { require<ArgumentError>(threads >= 1, "Threads: at least 1, got ", threads); }
void Threads::destroy(State*) {}

}  // namespace kiln
