// The dashboard in a terminal, which is left as it was, whatever ends the program.
#include <gtest/gtest.h>

#include <pty.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <functional>

#include "kiln/core/text.hpp"
#include "kiln/train/show/dashboard.hpp"
#include "tests/train/show/letters.hpp"

namespace kiln {
namespace {

struct Seen {
  std::string bytes;
  int status = 0;
  bool canonical = false;  // how the terminal was left
};

/// What somebody at the terminal does once it has shown these words after what it had shown at the last turn.
struct Turn {
  std::string shown;
  std::function<void(int terminal)> then;
};
Turn press(std::string keys, std::string shown = "q: stop") {
  return {std::move(shown), [keys = std::move(keys)](int terminal) {
            EXPECT_EQ(::write(terminal, keys.data(), keys.size()), std::ssize(keys));
          }};
}
Turn resize(unsigned short width, unsigned short height, std::string shown) {
  return {std::move(shown), [=](int terminal) {
            const winsize size{height, width, 0, 0};
            EXPECT_EQ(::ioctl(terminal, TIOCSWINSZ, &size), 0);
          }};
}

/// What `use` sends to a terminal of its own.
Seen on_terminal(std::vector<Turn> turns, void (*use)()) {
  int master = -1, slave = -1;
  const winsize size{24, 80, 0, 0};
  if (::openpty(&master, &slave, nullptr, nullptr, &size) != 0) return {};
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::setenv("TERM", "xterm", 1);
    ::login_tty(slave);
    use();
    std::exit(0);
  }
  Seen seen;
  char bytes[4096];
  std::size_t looked = 0;
  for (;;) {
    fd_set ready;
    FD_ZERO(&ready);
    FD_SET(master, &ready);
    timeval wait{0, 50'000};
    if (::select(master + 1, &ready, nullptr, nullptr, &wait) > 0) {
      const ssize_t count = ::read(master, bytes, sizeof bytes);
      if (count > 0) seen.bytes.append(bytes, static_cast<std::size_t>(count));
    } else if (::waitpid(child, &seen.status, WNOHANG) == child) {
      break;
    }
    if (turns.empty()) continue;
    const std::size_t at = seen.bytes.find(turns[0].shown, looked);
    if (at == std::string::npos) continue;
    looked = at + turns[0].shown.size();
    turns[0].then(master);
    turns.erase(turns.begin());
  }
  EXPECT_TRUE(turns.empty()) << "never seen: " << (turns.empty() ? "" : turns[0].shown);
  termios left{};
  ::tcgetattr(slave, &left);
  seen.canonical = (left.c_lflag & ICANON) && (left.c_lflag & ECHO);
  ::close(master);
  ::close(slave);
  return seen;
}

/// Trains nothing until the dashboard says stop.
void watch_until_stopped() {
  training::Begin begin{.batches = 1};
  Dashboard dashboard;
  dashboard.on(begin);
  for (std::int64_t step = 1; !begin.control.should_stop() && step < 2000; ++step) {
    dashboard.on(training::Step{{.step = step}, 0.5, {0.1}, 1, 0.005});
    ::usleep(5000);
  }
  dashboard.on(training::RunEnd{{.step = 7}, begin.control.reason()});
}

TEST(Dashboard, IsStoppedByAKeyAndLeavesTheScreen) {
  const Seen seen = on_terminal({press("q"), press("s", "g: go on")}, watch_until_stopped);
  EXPECT_EQ(seen.status, 0);
  EXPECT_NE(seen.bytes.find("\x1b[?1049h"), std::string::npos);
  const std::size_t left = seen.bytes.rfind("\x1b[?1049l");
  ASSERT_NE(left, std::string::npos);
  EXPECT_NE(seen.bytes.find("stopped by the key q", left), std::string::npos);
  EXPECT_TRUE(seen.canonical);
}

TEST(Dashboard, AsksBeforeItStops) {
  // Other keys are no answer, and the question comes again.
  const Seen unsaved = on_terminal({press("q"), press("g", "g: go on"), press("q"), press("t", "g: go on")}, [] {
    training::Begin begin{.batches = 1};
    Dashboard dashboard;
    dashboard.on(begin);
    for (std::int64_t step = 1; !begin.control.should_stop() && step < 2000; ++step) {
      dashboard.on(training::Step{{.step = step}, 0.5, {0.1}, 1, 0.005});
      ::usleep(5000);
    }
    dashboard.on(training::RunEnd{{.step = 7}, begin.control.reason()});
    std::exit(begin.control.saves_end() ? 1 : 0);
  });
  EXPECT_EQ(unsaved.status, 0);
  EXPECT_NE(unsaved.bytes.find("stopped by the key q, without saving", unsaved.bytes.rfind("\x1b[?1049l")),
            std::string::npos);
  EXPECT_NE(unsaved.bytes.find("\x1b[?1006h"), std::string::npos);
  EXPECT_LT(unsaved.bytes.rfind("\x1b[?1006h"), unsaved.bytes.rfind("\x1b[?1006l"));
}

TEST(Dashboard, AsksOnWhereTheMouseIsUsed) {
  // A click and its release, and the wheel: the answer comes after them.
  const std::string mouse = "\x1b[<0;1;1M\x1b[<0;1;1m\x1b[<64;1;1M\x1b[<65;1;1M";
  const Seen seen = on_terminal({press("q"), press(mouse + "s", "g: go on")}, watch_until_stopped);
  EXPECT_EQ(seen.status, 0);
  EXPECT_NE(seen.bytes.find("stopped by the key q", seen.bytes.rfind("\x1b[?1049l")), std::string::npos);
}

TEST(Dashboard, SaysWhetherItSaves) {
  const auto in_one_step = [] {  // both answers come within it
    training::Begin begin{.batches = 1};
    Dashboard dashboard;
    dashboard.on(begin);
    for (int i = 0; i < 2000 && !begin.control.take_save(); ++i) ::usleep(5000);
    dashboard.on(training::RunEnd{{.step = 1}, begin.control.reason()});
    std::exit(begin.control.saves_end() ? 0 : 1);
  };
  for (const char* const keys : {"qtqs", "qsqt"}) {
    const Seen seen = on_terminal({press(keys), press("s", "saves and stops after this step")}, in_one_step);
    EXPECT_EQ(seen.status, 0) << keys;
    const std::size_t left = seen.bytes.rfind("\x1b[?1049l");
    EXPECT_NE(seen.bytes.find("stopped by the key q", left), std::string::npos) << keys;
    EXPECT_EQ(seen.bytes.find("without saving", left), std::string::npos) << keys;
  }
}

TEST(Dashboard, StaysAfterTrainingUntilItIsLeft) {
  const auto stays = [] {
    Dashboard dashboard({.stays = true});
    dashboard.on(training::Begin{.batches = 1});
    dashboard.on(training::Evaluation{{.step = 1}, "valid", {{"loss", 0.5}}});
    dashboard.on(training::RunEnd{{.step = 1}, "all is done"});
    std::printf("[after]\n");
  };
  const Seen seen = on_terminal({press("xq", "q: leave")}, stays);
  EXPECT_EQ(seen.status, 0);
  EXPECT_TRUE(seen.canonical);
  const std::size_t left = seen.bytes.rfind("\x1b[?1049l"), after = seen.bytes.find("[after]");
  EXPECT_LT(seen.bytes.find("q: leave"), left);
  EXPECT_LT(left, after);
}

TEST(Dashboard, LeavesTheScreenWhereTheProgramCrashes) {
  const Seen crashed = on_terminal({}, [] {
    Dashboard dashboard;
    dashboard.on(training::Begin{.batches = 1});
    ::usleep(250'000);
    std::raise(SIGSEGV);
  });
  EXPECT_TRUE(WIFSIGNALED(crashed.status));
  EXPECT_TRUE(crashed.canonical);
  EXPECT_NE(crashed.bytes.rfind("\x1b[?1049l"), std::string::npos);
  const Seen left = on_terminal({}, [] {
    static Dashboard dashboard;
    dashboard.on(training::Begin{.batches = 1});
    std::exit(3);
  });
  EXPECT_EQ(WEXITSTATUS(left.status), 3);
  EXPECT_TRUE(left.canonical);
}

// A loop by hand that has no SignalScope: a signal ends it as it does any program, but not on the other screen.
TEST(Dashboard, LeavesTheScreenWhereNobodyHandlesSignals) {
  for (const auto& [keys, signal] : {std::pair("\x03", SIGINT), std::pair("\x1c", SIGQUIT)}) {
    const Seen seen = on_terminal({press(keys)}, watch_until_stopped);
    EXPECT_TRUE(WIFSIGNALED(seen.status));
    EXPECT_EQ(WTERMSIG(seen.status), signal);
    EXPECT_TRUE(seen.canonical);
    EXPECT_NE(seen.bytes.rfind("\x1b[?1049l"), std::string::npos);
  }
}

int fall(int depth) {
  volatile char frame[1024];
  frame[0] = static_cast<char>(depth);
  return depth < 0 ? 0 : fall(depth + 1) + frame[0];
}

TEST(Dashboard, LeavesTheScreenWhereTheStackOverflows) {
  const Seen seen = on_terminal({}, [] {
    Dashboard dashboard;
    dashboard.on(training::Begin{.batches = 1});
    ::usleep(250'000);
    std::exit(fall(0));
  });
  EXPECT_NE(seen.status, 0);
  EXPECT_TRUE(seen.canonical);
  EXPECT_NE(seen.bytes.rfind("\x1b[?1049l"), std::string::npos);
}

void say(std::string_view words) {
  [[maybe_unused]] const ssize_t written = ::write(STDOUT_FILENO, words.data(), words.size());
}

/// What a shell does with a job that is stopped twice: first it goes on in front, then in the background, then in
/// front.
void watch_as_a_job() {
  std::signal(SIGTTOU, SIG_IGN);  // the shell may take the terminal whenever it likes
  const pid_t job = ::fork();
  ::setpgid(job, job);
  ::tcsetpgrp(STDIN_FILENO, job == 0 ? ::getpid() : job);
  if (job == 0) {
    std::signal(SIGTTOU, SIG_DFL);
    watch_until_stopped();
    std::exit(0);
  }
  int status = 0;
  for (const bool first : {true, false}) {
    ::waitpid(job, &status, WUNTRACED);
    if (!WIFSTOPPED(status)) std::exit(1);
    ::tcsetpgrp(STDIN_FILENO, ::getpgrp());
    termios left{};
    ::tcgetattr(STDIN_FILENO, &left);
    say((left.c_lflag & ICANON) ? "[stopped]" : "[stopped, but not as it was]");
    if (first) ::tcsetpgrp(STDIN_FILENO, job);
    ::kill(-job, SIGCONT);
  }
  ::usleep(300'000);
  const bool runs = ::waitpid(job, &status, WNOHANG | WUNTRACED) == 0;
  say(runs ? "[runs]" : "[has stopped]");
  ::tcsetpgrp(STDIN_FILENO, job);
  ::waitpid(job, &status, 0);
  std::exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

TEST(Dashboard, GivesTheTerminalBackWhileItIsStopped) {
  const Seen seen = on_terminal({press("\x1a"),
                                 {"[stopped]", [](int) {}},
                                 press("\x1a"),
                                 {"[stopped]", [](int) {}},
                                 {"[runs]", [](int) {}},
                                 press("qs")},
                                watch_as_a_job);
  EXPECT_EQ(seen.status, 0);
  const auto screen = [&](std::size_t from, std::size_t to) {
    const std::string shown = seen.bytes.substr(from, to - from);
    return std::pair(shown.find("\x1b[?1049h") != shown.npos, shown.find("\x1b[?1049l") != shown.npos);
  };
  const std::size_t first = seen.bytes.find("[stopped]"), second = seen.bytes.find("[stopped]", first + 1);
  const std::size_t runs = seen.bytes.find("[runs]");
  EXPECT_EQ(screen(0, first), std::pair(true, true));
  EXPECT_EQ(screen(first, second), std::pair(true, true));
  EXPECT_EQ(seen.bytes.substr(second, runs - second), "[stopped]");  // nothing of it in the background
  EXPECT_EQ(screen(runs, seen.bytes.size()), std::pair(true, true));
  EXPECT_TRUE(seen.canonical);
}

TEST(Dashboard, FollowsATerminalThatIsResized) {
  const Seen seen = on_terminal({resize(100, 40, "q: stop"), resize(30, 10, "\x1b[40;1H"), press("qs", "\x1b[2J")},
                                watch_until_stopped);
  EXPECT_EQ(seen.status, 0);
  const std::size_t drawn = seen.bytes.rfind("\x1b[2J"), left = seen.bytes.find("\x1b[?1049l", drawn);
  ASSERT_NE(left, std::string::npos);
  const std::string shown = seen.bytes.substr(drawn, left - drawn);
  for (std::size_t row = 11; row <= 40; ++row) EXPECT_EQ(shown.find(text("\x1b[", row, ";1H")), shown.npos) << row;
  EXPECT_NE(shown.find("\x1b[10;1H"), shown.npos);
  for (std::size_t at = shown.find(";1H"); at != shown.npos; at = shown.find(";1H", at + 1)) {
    const std::string line = shown.substr(at + 3, shown.find("\x1b[K", at) - at - 3);
    EXPECT_LE(test::letters(line), 30) << line;
  }
}

// As by who closes the window, or whose connection breaks: the training ends after its step, and has time to save.
TEST(Dashboard, EndsWithATerminalThatIsClosed) {
  int master = -1, told[2];
  ASSERT_EQ(::pipe(told), 0);
  const winsize size{24, 80, 0, 0};
  const pid_t child = ::forkpty(&master, nullptr, nullptr, &size);
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::setenv("TERM", "xterm", 1);
    const SignalScope signals;
    training::Begin begin{.batches = 1};
    std::int64_t step = 1;
    {
      Dashboard dashboard;
      dashboard.on(begin);
      for (; !begin.control.should_stop() && step < 4000; ++step) {
        dashboard.on(training::Step{{.step = step}, 0.5, {0.1}, 1, 0.005});
        ::usleep(5000);
      }
      for (const std::int64_t last = step + 50; step < last; ++step) {  // and draws on, which nobody sees
        dashboard.on(training::Step{{.step = step}, 0.5, {0.1}, 1, 0.005});
        ::usleep(5000);
      }
      dashboard.on(training::RunEnd{{.step = step}, begin.control.reason()});
    }
    const std::string reason = begin.control.reason();
    std::_Exit(::write(told[1], reason.data(), reason.size()) == std::ssize(reason) ? 0 : 1);
  }
  ::close(told[1]);
  std::string seen;
  char bytes[4096];
  while (seen.find("q: stop") == std::string::npos) {
    const ssize_t count = ::read(master, bytes, sizeof bytes);
    ASSERT_GT(count, 0);
    seen.append(bytes, static_cast<std::size_t>(count));
  }
  ::close(master);  // the kernel sends SIGHUP
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const ssize_t count = ::read(told[0], bytes, sizeof bytes);
  EXPECT_EQ(std::string(bytes, static_cast<std::size_t>(std::max<ssize_t>(count, 0))), "the terminal was closed");
  ::close(told[0]);
}

TEST(Dashboard, IsPlainLinesOnADumbTerminal) {
  const Seen seen = on_terminal({}, [] {
    ::setenv("TERM", "dumb", 1);
    Dashboard dashboard;
    dashboard.on(training::Begin{.batches = 1});
    dashboard.on(training::Evaluation{{.step = 1}, "valid", {{"loss", 0.5}}});
  });
  EXPECT_EQ(seen.bytes.find('\x1b'), std::string::npos);
  EXPECT_NE(seen.bytes.find("valid: loss 0.5"), std::string::npos) << seen.bytes;
}

}  // namespace
}  // namespace kiln
