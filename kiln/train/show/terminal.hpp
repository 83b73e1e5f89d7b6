// The terminal as a full screen, which is restored however the program ends.
#pragma once
#include <string>
#include <vector>

namespace kiln {

enum class Press {
  None,
  Left,
  Right,
  Up,
  Down,
  Back,
  Forward,
  Stop,
  Save,
  Unsaved,
  Smooth,
  Log,
  GoOn,
  Click,
  WheelUp,
  WheelDown,
  Mouse,  // a button is released, or one without a meaning pressed
  Other   // another key
};

struct ScreenSize {
  int width = 80, height = 24;
};
struct ScreenPlace {
  int column = 0, row = 0;  // from the top left
};

/// Takes the first key, or click of the mouse, off the bytes that a terminal sent; None if they end within one.
Press take_key(std::string& bytes, ScreenPlace& clicked);

/// While it lives, the standard output is the terminal's alternate screen, and keys and clicks are read one by one
/// (text is selected with Shift). The terminal is restored when it is destroyed, at exit(), and when a signal ends the
/// process (a crash, a Ctrl-C that is not handled); a stack overflow is only handled in the thread that created it.
/// While the process is stopped (Ctrl-Z) or in the background, the terminal is left to others. Only one may exist at a
/// time.
class Terminal {
 public:
  /// Are standard input and output a capable terminal? TERM=dumb is not.
  static bool available();

  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  ScreenSize size() const;
  /// Shows these lines, which may contain ANSI sequences, from the top; only sends those that changed. Lines and
  /// characters that do not fit are left out.
  void draw(std::vector<std::string> lines);
  /// Waits for a key, at most that long. Called by the thread that draws: here the process stops for a Ctrl-Z, and
  /// takes the screen again when it continues.
  Press key(int milliseconds);
  /// A key that has arrived with the last one; None if there is no more.
  Press next_key() { return take_key(arrived_, clicked_); }
  /// The place of the mouse at the last Press::Click.
  ScreenPlace clicked() const { return clicked_; }
  /// Has the terminal gone away?
  bool is_closed() const { return closed_; }

 private:
  void stop();
  void enter();

  std::vector<std::string> shown_;
  ScreenSize shown_size_{0, 0};
  std::string arrived_;  // bytes of keys that were not taken yet
  ScreenPlace clicked_;
  bool closed_ = false;
};

/// The first `width` characters of a line of UTF-8 and ANSI sequences.
std::string clipped(const std::string& line, int width);

}  // namespace kiln
