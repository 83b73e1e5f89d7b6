// A block of threads under way.
#pragma once
#include <limits>
#include <span>
#include <type_traits>

#include "kiln/backend/gpu/kernel/interpret.hpp"
#include "kiln/backend/gpu/kernel/interpret/program.hpp"
#include "kiln/core/error/error.hpp"

namespace kiln::gpu::interpreted {

/// Which threads are there: 1 or 0 for each.
struct Mask {
  std::vector<std::uint8_t> on;
  int count = 0;
};

/// A buffer as this launch has it: elements `first` to before `last` may be touched.
struct View {
  std::byte* data = nullptr;
  std::int64_t first = 0, last = 0;
};

/// Who was at an element of shared memory, and when: counted in barriers, of all blocks.
struct Touch {
  std::uint32_t written = 0, read = 0;
  std::uint16_t writer = 0, reader = 0;
  std::uint16_t other_reader = 0;  // where there were two, another one
  bool several = false;            // read by more than `reader`
  bool updated = false;            // written by an update
};

struct SharedArray {
  std::vector<std::byte> data;
  std::vector<Touch> touches;
};

/// Element i of thread t is at i * threads + t.
struct LocalArray {
  std::vector<std::byte> data;
  std::vector<std::uint8_t> set;  // was it ever?
};

class Turns;

struct Block {
  Block(const Program& program, std::int64_t blocks, std::span<const std::uint64_t> arguments,
        std::span<const Extent> extents);
  void run(std::int64_t index);

  const Program& program;
  const int threads;
  const std::int64_t blocks;
  std::int64_t index = 0;
  std::span<const std::uint64_t> arguments;
  std::vector<std::uint64_t> memory;  // of cells
  std::vector<View> views;            // by argument
  std::vector<View> chosen;           // of tables
  std::vector<SharedArray> shared;
  std::vector<LocalArray> locals;
  std::vector<Mask> masks;
  const Mask* mask;                  // of who is there now
  std::uint32_t now = 0, began = 0;  // barriers met: so far, and when the block began
  std::vector<std::int64_t> places;  // of an access
  Turns* turns = nullptr;            // of blocks that meet

  template <class T>
  T* cells(std::uint32_t where) {
    return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(memory.data()) + where);
  }
  const View& view(std::uint16_t place) const {
    return place & Kernel::kChosen ? chosen[place - Kernel::kChosen] : views[program.words[place]];
  }
  bool full() const { return mask->count == threads; }
  void take(const Steps& steps) {
    for (const Step& step : steps) step.run(*this, step);
  }
  /// f(t) for every thread that is there.
  template <class F>
  void each(F f) const {
    if (full()) {
      for (int t = 0; t < threads; ++t) f(t);
    } else {
      for (int t = 0; t < threads; ++t)
        if (mask->on[static_cast<std::size_t>(t)]) f(t);
    }
  }
  /// Where an access goes, by thread: operand 0 of the step.
  const std::int64_t* find_places(const Step& step);

  template <class... Parts>
  [[noreturn]] void wrong(const Parts&... parts) const {
    fail<DeviceError>("kernel ", program.kernel.name, ", block ", index, ": ", parts...);
  }
};

/// f(t) for all threads, there or not: the inner loop has a known length, so that compilers make vectors of it.
template <class F>
void for_all(int threads, F f) {
  for (int first = 0; first < threads; first += kLanes)
    for (int t = first; t < first + kLanes; ++t) f(t);
}

/// Is cell t that of thread 0 and `apart` times t?
template <class T>
bool are_in_line(const T* cells, int threads, T apart) {
  using U = std::make_unsigned_t<T>;
  U differ = 0, expected = static_cast<U>(cells[0]);
  for (int first = 0; first < threads && differ == 0; first += kLanes)
    for (int t = first; t < first + kLanes; ++t, expected += static_cast<U>(apart))
      differ |= static_cast<U>(cells[t]) ^ expected;
  return differ == 0;
}

}  // namespace kiln::gpu::interpreted
