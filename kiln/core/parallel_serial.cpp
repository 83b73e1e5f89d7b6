// parallel.hpp where there are no threads: the same pieces, in order, on the caller.
#include "kiln/core/error.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln {

void parallel_for(std::int64_t count, std::int64_t grain, PieceBody body) { serial_for(count, grain, body); }

int num_threads() { return 1; }

void set_num_threads(int threads) {
  require<ArgumentError>(threads >= 1, "set_num_threads: at least 1, got ", threads);
}

}  // namespace kiln
