// The terminal as a screen: drawn on as a whole, left as it was found, whatever ends the program.
#pragma once
#include <string>
#include <vector>

namespace kiln {

enum class Press { None, Left, Right, Up, Down, Back, Forward, Stop, Save, Other };

struct ScreenSize {
  int width = 80, height = 24;
};

/// While it lives, the standard output is the terminal's other screen, and keys arrive one by one. It goes back to what
/// it was when this ends, at exit(), and when a signal that ends the process (a crash, a Ctrl-C that nobody else waits for)
/// arrives; of a stack that overflows that is so in the thread that made it. While the process is stopped (Ctrl-Z) or in
/// the background, the terminal belongs to others. One at a time.
class Terminal {
 public:
  /// Are standard input and output a terminal that can do this? TERM=dumb cannot.
  static bool available();

  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  ScreenSize size() const;
  /// Shows these lines, which may hold ANSI sequences, from the top; sends only those that changed. What does not fit is
  /// left out.
  void draw(std::vector<std::string> lines);
  /// Waits for a key, at most so long. Of the thread that draws: it is here that the process stops for a Ctrl-Z, and takes
  /// the screen back when it goes on.
  Press key(int milliseconds);

 private:
  void stop();
  void enter();

  std::vector<std::string> shown_;
  ScreenSize shown_size_{0, 0};
};

/// The first `width` letters of a line, of UTF-8 and ANSI sequences.
std::string clipped(const std::string& line, int width);

}  // namespace kiln
