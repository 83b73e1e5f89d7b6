// A block of threads that is running.
#pragma once
#include <limits>
#include <span>
#include <type_traits>

#include "kiln/backend/gpu/kernel/interpret.hpp"
#include "kiln/backend/gpu/kernel/interpret/program.hpp"
#include "kiln/core/error/error.hpp"

namespace kiln::gpu::interpreted {

/// Which threads are active: 1 or 0 for each.
struct Mask {
  std::vector<std::uint8_t> on;
  int count = 0;
};

/// A buffer in this launch: elements `first` to before `last` may be touched.
struct View {
  std::byte* data = nullptr;
  std::int64_t first = 0, last = 0;
};

/// Which threads last accessed an element of shared memory, and when: counted in barriers, over all blocks.
struct Touch {
  std::uint32_t written = 0, read = 0;
  std::uint16_t writer = 0, reader = 0;
  std::uint16_t other_reader = 0;  // a second reader, if there are several
  bool several = false;            // were there readers other than `reader`?
  bool updated = false;            // was the write an update?
};

struct SharedArray {
  std::vector<std::byte> data;
  std::vector<Touch> touches;
};

/// Element i of thread t is at i * threads + t.
struct LocalArray {
  std::vector<std::byte> data;
  std::vector<std::uint8_t> set;  // was it ever set?
};

/// The elements of a matrix that warps hold, row by row, for each warp; and whether it was set.
struct MatrixArray {
  std::vector<float> data;
  std::vector<std::uint8_t> set;
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
  std::vector<std::uint64_t> memory;  // the cells
  std::vector<View> views;            // by parameter
  std::vector<View> chosen;           // the buffers selected from tables
  std::vector<SharedArray> shared;
  std::vector<LocalArray> locals;
  std::vector<MatrixArray> matrices;
  std::vector<Mask> masks;
  const Mask* mask;                  // the active threads now
  std::uint32_t now = 0, began = 0;  // barriers passed so far, and when the block began
  std::vector<std::int64_t> places;  // the indices of an access
  Turns* turns = nullptr;            // for blocks that wait for each other

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
  /// Calls f(t) for every active thread.
  template <class F>
  void each(F f) const {
    if (full()) {
      for (int t = 0; t < threads; ++t) f(t);
    } else {
      for (int t = 0; t < threads; ++t)
        if (mask->on[static_cast<std::size_t>(t)]) f(t);
    }
  }
  /// The index of an access, by thread: operand 0 of the step.
  const std::int64_t* find_places(const Step& step);

  template <class... Parts>
  [[noreturn]] void wrong(const Parts&... parts) const {
    fail<DeviceError>("kernel ", program.kernel.name, ", block ", index, ": ", parts...);
  }
};

/// Calls f(t) for all threads, active or not: the inner loop has a fixed length, so that compilers vectorize it.
template <class F>
void for_all(int threads, F f) {
  for (int first = 0; first < threads; first += kLanes)
    for (int t = first; t < first + kLanes; ++t) f(t);
}

/// Does cell t equal cell 0 plus t * `apart`, for all t?
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
