// The calls that led to a point of the program: stored as addresses, which is cheap, and turned into text only for an
// error.
#pragma once
#include <array>
#include <string>

namespace kiln {

/// The innermost calls of a thread.
struct Trace {
  static constexpr int kMost = 24;
  int depth = 0;
  std::array<void*, kMost> calls;  // return addresses, the innermost first

  /// The calls that lead to this point.
  static Trace here();
};

/// Returns "\n  called from main.cpp:42 main" for each call, the innermost first, without the calls inside Kiln and the
/// C library. A program without debug information (-g) has no file names and lines, a stripped one no function names.
std::string lines_of(const Trace& trace);

namespace detail {

/// One call of a trace. The function's name is mangled.
struct Frame {
  std::string function, file;
  int line = 0;
  void* address = nullptr;
};
/// Calls `each` for the frames of `address`, innermost first: several where functions were inlined.
void read_frames(void* address, void (*each)(void* list, Frame frame), void* list);

}  // namespace detail
}  // namespace kiln
