// The place in a stream, saved in checkpoints.
#pragma once
#include <cstdint>
#include <vector>

namespace kiln {

/// How far a stream was read before a batch, to resume there. With an empty state: the beginning.
struct StreamPlace {
  std::int64_t epoch = 0, batch = 0;
  std::int64_t pass = 0, items = 0;  // pass of the stream; items of that pass so far
  std::vector<std::uint8_t> state{};
};

}  // namespace kiln
