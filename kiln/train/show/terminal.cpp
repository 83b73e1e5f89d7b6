#include "kiln/train/show/terminal.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "kiln/core/text.hpp"
#include "kiln/train/interrupter.hpp"
#include "kiln/train/log/progress.hpp"

namespace kiln {
namespace {

constexpr std::array kCrashes = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};

std::atomic<bool> active{false};
termios found;
std::array<struct sigaction, kCrashes.size()> before;
LastWish wish_before = nullptr;

void send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (sent <= 0) return;  // a terminal that was closed
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

/// Only what a signal handler may do.
void restore() {
  if (!active.exchange(false)) return;
  send("\x1b[?25h\x1b[?1049l");
  ::tcsetattr(STDIN_FILENO, TCSANOW, &found);
}

void on_crash(int number) {
  restore();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

}  // namespace

bool Terminal::available() { return is_screen(stdout) && ::isatty(STDIN_FILENO) != 0; }

Terminal::Terminal() {
  static const int at_exit = std::atexit(restore);
  static_cast<void>(at_exit);
  ::tcgetattr(STDIN_FILENO, &found);
  termios raw = found;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);  // Ctrl-C stays a signal
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  active = true;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  struct sigaction action = {};
  action.sa_handler = on_crash;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kCrashes.size(); ++i) sigaction(kCrashes[i], &action, &before[i]);
  wish_before = set_last_wish(restore);
  send("\x1b[?1049h\x1b[?25l\x1b[2J");
}

Terminal::~Terminal() {
  restore();
  set_last_wish(wish_before);
  for (std::size_t i = 0; i < kCrashes.size(); ++i) sigaction(kCrashes[i], &before[i], nullptr);
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
  shown_.resize(lines.size(), "\n");  // unlike any line
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (lines[i] != shown_[i]) bytes += text("\x1b[", i + 1, ";1H", clipped(lines[i], now.width), "\x1b[0m\x1b[K");
  shown_ = std::move(lines);
  shown_size_ = now;
  if (active) send(bytes);
}

Press Terminal::key(int milliseconds) {
  pollfd wait{STDIN_FILENO, POLLIN, 0};
  if (::poll(&wait, 1, milliseconds) <= 0) return Press::None;
  char bytes[16];
  const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
  if (count <= 0) {
    ::poll(nullptr, 0, milliseconds);  // closed: not again at once
    return Press::None;
  }
  const std::string_view pressed(bytes, static_cast<std::size_t>(count));
  if (pressed == "\x1b[A" || pressed == "\x1bOA") return Press::Up;
  if (pressed == "\x1b[B" || pressed == "\x1bOB") return Press::Down;
  if (pressed == "\x1b[C" || pressed == "\x1bOC" || pressed == "\t") return Press::Right;
  if (pressed == "\x1b[D" || pressed == "\x1bOD") return Press::Left;
  if (pressed[0] == 'q') return Press::Stop;
  return pressed[0] == 's' ? Press::Save : Press::Other;
}

std::string clipped(const std::string& line, int width) {
  std::size_t at = 0;
  for (int letters = 0; at < line.size();) {
    if (line[at] == '\x1b') {  // a sequence ends with a letter
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
