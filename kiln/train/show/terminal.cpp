#include "kiln/train/show/terminal.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <vector>

#include "kiln/core/text.hpp"
#include "kiln/train/interrupter.hpp"
#include "kiln/train/log/progress.hpp"

namespace kiln {
namespace {

constexpr std::array kCrashes = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};
/// Signals that end the process, too, unless they are handled or ignored.
constexpr std::array kEnding = {SIGQUIT, SIGINT, SIGTERM, SIGHUP};

std::atomic<bool> active{false};      // is the screen in use?
std::atomic<bool> over{false};        // has it been released for good?
std::atomic<bool> stop_asked{false};  // to stop the process, by Ctrl-Z
std::atomic<bool> continued{false};   // the process was continued after a stop
termios found;
EmergencyRestore wish_before = nullptr;

/// Signal handlers that are installed for a while; each is replaced by the previous one, unless it was changed
/// meanwhile.
class Handlers {
 public:
  void set(int number, void (*handler)(int), bool if_default = false) {
    Taken taken{number, handler, {}};
    sigaction(number, nullptr, &taken.before);
    if (if_default && taken.before.sa_handler != SIG_DFL) return;
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = SA_ONSTACK | SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, nullptr);
    taken_.push_back(taken);
  }
  void put_back() {
    for (const Taken& taken : taken_) {
      struct sigaction now = {};
      sigaction(taken.number, nullptr, &now);
      if (now.sa_handler == taken.handler) sigaction(taken.number, &taken.before, nullptr);
    }
    taken_.clear();
  }

 private:
  struct Taken {
    int number;
    void (*handler)(int);
    struct sigaction before;
  };
  std::vector<Taken> taken_;
} handlers;

/// After a stack overflow a handler needs a stack of its own. It is kept after the terminal is released.
void give_signals_a_stack() {
  static std::array<std::byte, 1 << 16> memory;
  stack_t now{};
  if (::sigaltstack(nullptr, &now) != 0 || !(now.ss_flags & SS_DISABLE)) return;
  const stack_t own{.ss_sp = memory.data(), .ss_flags = 0, .ss_size = memory.size()};
  ::sigaltstack(&own, nullptr);
}

/// Is this process in the foreground of its terminal?
bool in_front() {
  const pid_t owner = ::tcgetpgrp(STDIN_FILENO);
  return owner < 0 || owner == ::getpgrp();  // without a controlling terminal there is no other process
}

void send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (sent <= 0) return;  // the terminal was closed
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

/// leave() and restore() do only what a signal handler may do.
void leave() {
  if (!active.exchange(false)) return;
  send("\x1b[?1006l\x1b[?1000l\x1b[?25h\x1b[?1049l");
  ::tcsetattr(STDIN_FILENO, TCSANOW, &found);
}

void restore() {
  over = true;
  leave();
}

void on_crash(int number) {
  restore();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

void on_stop(int) { stop_asked = true; }
void on_continue(int) { continued = true; }

}  // namespace

bool Terminal::available() { return is_screen(stdout) && ::isatty(STDIN_FILENO) != 0; }

Terminal::Terminal() {
  static const int at_exit = std::atexit(restore);
  static_cast<void>(at_exit);
  over = stop_asked = continued = false;
  give_signals_a_stack();
  for (const int number : kCrashes) handlers.set(number, on_crash);
  for (const int number : kEnding) handlers.set(number, on_crash, /*if_default=*/true);
  handlers.set(SIGTSTP, on_stop, /*if_default=*/true);
  handlers.set(SIGCONT, on_continue, /*if_default=*/true);
  wish_before = set_emergency_restore(restore);
  if (in_front()) enter();
}

Terminal::~Terminal() {
  restore();
  set_emergency_restore(wish_before);
  handlers.put_back();
}

void Terminal::enter() {
  if (!active) ::tcgetattr(STDIN_FILENO, &found);
  termios raw = found;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);  // Ctrl-C still sends a signal
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  active = true;
  continued = false;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  send("\x1b[?1049h\x1b[?25l\x1b[?1000h\x1b[?1006h\x1b[2J");
  shown_size_ = {0, 0};  // redraw everything
  if (over) leave();     // another thread is ending the program
}

// Restores the terminal, and stops the process as without a handler. SIGCONT continues the process.
void Terminal::stop() {
  leave();
  struct sigaction own = {}, none = {};
  none.sa_handler = SIG_DFL;
  sigaction(SIGTSTP, &none, &own);
  std::raise(SIGTSTP);
  sigaction(SIGTSTP, &own, nullptr);
}

ScreenSize Terminal::size() const {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {size.ws_col, size.ws_row};
}

void Terminal::draw(std::vector<std::string> lines) {
  const ScreenSize now = size();
  std::string bytes;
  if (now.width != shown_size_.width || now.height != shown_size_.height) {
    shown_.clear();
    bytes = "\x1b[2J";
  }
  lines.resize(static_cast<std::size_t>(now.height));
  shown_.resize(lines.size(), "\n");  // different from any line
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (lines[i] != shown_[i]) bytes += text("\x1b[", i + 1, ";1H", clipped(lines[i], now.width), "\x1b[0m\x1b[K");
  shown_ = std::move(lines);
  shown_size_ = now;
  if (active) send(bytes);
}

Press Terminal::key(int milliseconds) {
  if (stop_asked.exchange(false)) stop();
  const bool ours = !over && in_front();
  if (ours && (!active || continued)) enter();
  if (!ours) {
    active = false;  // in the background the screen belongs to others
    ::poll(nullptr, 0, milliseconds);
    return Press::None;
  }
  pollfd wait{STDIN_FILENO, POLLIN, 0};
  if (::poll(&wait, 1, milliseconds) <= 0) return Press::None;
  char bytes[256];
  const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
  if (count <= 0) {
    closed_ = true;
    ::poll(nullptr, 0, milliseconds);  // avoids a busy loop
    return Press::None;
  }
  arrived_.append(bytes, static_cast<std::size_t>(count));
  return next_key();
}

namespace {

/// "\x1b[<0;12;3M": a button, its place counted from 1, and M where it is pressed (the mode SGR 1006 of xterm).
Press mouse_of(std::string_view numbers, char end, ScreenPlace& clicked) {
  std::array<int, 3> parts{};
  const char* at = numbers.data();
  const char* const behind = at + numbers.size();
  for (int& part : parts) {
    const auto [next, problem] = std::from_chars(at, behind, part);
    if (problem != std::errc()) return Press::Mouse;
    at = next + (next != behind);
  }
  constexpr int kLeft = 0, kWheelUp = 64, kWheelDown = 65;
  if (parts[0] == kWheelUp) return Press::WheelUp;
  if (parts[0] == kWheelDown) return Press::WheelDown;
  if (parts[0] != kLeft || end != 'M') return Press::Mouse;
  clicked = {parts[1] - 1, parts[2] - 1};
  return Press::Click;
}

Press letter_of(char letter) {
  switch (letter) {
    case '\t': return Press::Right;
    case '<':
    case ',': return Press::Back;
    case '>':
    case '.': return Press::Forward;
    case 'q': return Press::Stop;
    case 's': return Press::Save;
    case 't': return Press::Unsaved;
    case 'm': return Press::Smooth;
    case 'l': return Press::Log;
    case 'g':
    case '\x1b': return Press::GoOn;
    default: return Press::Other;
  }
}

}  // namespace

Press take_key(std::string& bytes, ScreenPlace& clicked) {
  if (bytes.empty()) return Press::None;
  const bool is_sequence = bytes[0] == '\x1b' && bytes.size() > 1 && (bytes[1] == '[' || bytes[1] == 'O');
  if (!is_sequence) {
    const char letter = bytes[0];
    bytes.erase(0, 1);
    return letter_of(letter);
  }
  // Numbers and the like, up to a letter.
  constexpr std::size_t kLongest = 64;
  const auto last = std::find_if(bytes.begin() + 2, bytes.end(), [](char c) { return c >= '@' && c <= '~'; });
  const auto end = static_cast<std::size_t>(last - bytes.begin());
  if (end == bytes.size()) {
    if (bytes.size() > kLongest) bytes.clear();
    return Press::None;
  }
  const std::string sequence = bytes.substr(2, end - 2);
  const char letter = bytes[end];
  bytes.erase(0, end + 1);
  if (sequence.starts_with('<')) return mouse_of(std::string_view(sequence).substr(1), letter, clicked);
  if (!sequence.empty()) return Press::Other;
  switch (letter) {
    case 'A': return Press::Up;
    case 'B': return Press::Down;
    case 'C': return Press::Right;
    case 'D': return Press::Left;
    default: return Press::Other;
  }
}

std::string clipped(const std::string& line, int width) {
  std::size_t at = 0;
  for (int letters = 0; at < line.size();) {
    if (line[at] == '\x1b') {  // an escape sequence ends with a letter
      at += 1 + (at + 1 < line.size() && line[at + 1] == '[');
      while (at < line.size() && !((line[at] | 32) >= 'a' && (line[at] | 32) <= 'z')) ++at;
      if (at < line.size()) ++at;
      continue;
    }
    if (letters++ == width) break;
    ++at;
    while (at < line.size() && (line[at] & 0xc0) == 0x80) ++at;
  }
  return line.substr(0, at);
}

}  // namespace kiln
