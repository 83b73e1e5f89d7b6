// Accesses to shared memory, which are recorded, so that those without an order are found.
#pragma once
#include "kiln/backend/gpu/kernel/interpret/block.hpp"

namespace kiln::gpu::interpreted {

enum class Access { Read, Write, Update };

/// Records an access to an element. If two threads access it between two barriers and one of them writes, that is an
/// error: on a GPU their order is undefined.
template <Access access>
void touch(Block& block, const Step& step, int thread, std::int64_t place, Touch& touch) {
  const auto meets = [&](int other, const char* did) {
    block.wrong("threads ", other, " and ", thread, " meet at element ", place, " of shared array ", step.place,
                " without a barrier between them: the one ", did, ", the other ",
                access == Access::Read ? "reads" : "writes");
  };
  const auto self = static_cast<std::uint16_t>(thread);
  if (access != Access::Write && touch.written < block.began) [[unlikely]]
    block.wrong("thread ", thread, " reads element ", place, " of shared array ", step.place,
                ", which nobody has written");
  if (touch.written == block.now && touch.writer != self && !(access == Access::Update && touch.updated)) [[unlikely]]
    meets(touch.writer, "writes");
  if (access == Access::Read) {
    if (touch.read != block.now) {
      touch.read = block.now;
      touch.reader = self;
      touch.several = false;
    } else if (touch.reader != self) {
      touch.other_reader = self;
      touch.several = true;
    }
    return;
  }
  if (touch.read == block.now) {
    if (touch.reader != self) [[unlikely]]
      meets(touch.reader, "reads");
    if (touch.several) [[unlikely]]
      meets(touch.other_reader, "reads");
  }
  const bool alone = touch.written != block.now || touch.updated;
  touch.updated = access == Access::Update && alone;
  touch.written = block.now;
  touch.writer = self;
}

/// Checks that elements `place` to `place` + `width` exist, and are aligned for an access of `width` at once.
inline void demand_shared(const Block& block, const Step& step, int thread, std::int64_t place, std::int64_t width,
                          std::int64_t count) {
  if (place < 0 || place + width > count || place % width != 0) [[unlikely]]
    block.wrong("thread ", thread, " touches element ", place, " of shared array ", step.place, ", which has ", count,
                width > 1 ? text(", ", width, " at once") : "");
}

/// Calls f for all lanes of each warp that gets here; a warp of which only a part does is an error.
template <class F>
void each_warp(Block& block, std::string_view what, F f) {
  for (int first = 0; first < block.threads; first += kLanes) {
    int there = 0;
    for (int t = first; t < first + kLanes; ++t) there += block.mask->on[static_cast<std::size_t>(t)];
    if (there == 0) continue;
    if (there < kLanes) [[unlikely]]
      block.wrong("only ", there, " of the threads ", first, " to ", first + kLanes - 1, " get to ", what);
    f(first);
  }
}

}  // namespace kiln::gpu::interpreted
