// The calls that led to a place in the program: noted as addresses, which is cheap, and made text for an error alone.
#pragma once
#include <array>
#include <string>

namespace kiln {

/// The innermost calls of a thread.
struct Trace {
  static constexpr int kMost = 24;
  int depth = 0;
  std::array<void*, kMost> calls;  // return addresses, the innermost first

  /// Those that lead here.
  static Trace here();
};

/// "\n  called from main.cpp:42 main" for each call, the innermost first, Kiln's own and the C library's left out. A
/// program without debug information (-g) has no file names and lines, a stripped one no names of functions.
std::string lines_of(const Trace& trace);

namespace detail {

/// One call of a trace: what is known of it. A function's name is as the linker knows it.
struct Frame {
  std::string function, file;
  int line = 0;
  void* address = nullptr;
};
/// Hands over the frames of `address`, innermost first: several where functions were inlined.
void read_frames(void* address, void (*each)(void* list, Frame frame), void* list);

}  // namespace detail
}  // namespace kiln
