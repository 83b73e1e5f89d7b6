#include "kiln/core/error/error.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln {

void serial_for(std::int64_t count, std::int64_t grain, ChunkBody body) {
  require<ArgumentError>(grain >= 1, "parallel_for: a piece has at least 1 element, got a grain of ", grain);
  for (std::int64_t begin = 0; begin < count;) {
    const std::int64_t end = count - begin < grain ? count : begin + grain;
    body(begin, end);
    begin = end;
  }
}

}  // namespace kiln
