// The calls that led to a point of the program: stored as addresses, which is cheap, and turned into text only for an
// error.
#pragma once
#include <array>
#include <string>
#include <string_view>

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

/// The sentence of an error without the lines of its calls.
std::string_view without_calls(std::string_view sentence);
/// The sentences of several errors that are told at once, without the lines of the calls of any.
std::string without_all_calls(std::string_view sentences);
/// The sentence of an error with these words at its end, and the lines of its calls behind them.
std::string with_end(std::string_view sentence, std::string_view words);

/// While this object lives, errors on this thread were caused by calls that lie further back, for work that runs later
/// than it was asked for: they end with the lines of `calls`, and with none if it is null.
class CalledFrom {
 public:
  explicit CalledFrom(const Trace* calls);
  ~CalledFrom();
  CalledFrom(const CalledFrom&) = delete;
  CalledFrom& operator=(const CalledFrom&) = delete;

  /// The calls of the innermost scope; outside of any, those that lead to this point.
  static Trace calls();

 private:
  [[maybe_unused]] const Trace* before_calls_;
  [[maybe_unused]] bool before_is_set_;
};

namespace detail {

/// Each line of an error's calls begins with these words.
inline constexpr std::string_view kCalledFrom = "\n  called from ";

/// Lines for an error that is raised now: the calls of the innermost CalledFrom; outside of any, those calls of this
/// thread whose files and lines are known, which takes a program with debug information.
std::string lines_of_error();

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
