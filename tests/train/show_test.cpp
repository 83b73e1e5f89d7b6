// What is drawn of a training, and that a terminal is left as it was, whatever ends the program.
#include <gtest/gtest.h>

#include <pty.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>

#include "kiln/core/text.hpp"
#include "kiln/train/recorded.hpp"
#include "kiln/train/show/dashboard.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

Series series(const std::string& split, const std::vector<double>& values) {
  Series made{split, "loss"};
  for (std::size_t i = 0; i < values.size(); ++i) made.add(static_cast<double>(i), values[i]);
  return made;
}

std::vector<std::string> plotted(const std::vector<Series>& all, int width, int height, StepRange steps = {}) {
  std::vector<const Series*> pointers;
  for (const Series& s : all) pointers.push_back(&s);
  return plot(pointers, width, height, steps, false);
}

TEST(Plot, DrawsCurvesInDots) {
  // Four dots across and eight down, of which a line takes two in each column: in each cell the upper two on the left
  // and the lower two on the right, which is U+28A3.
  const auto falls = plotted({series("train", {7, 0})}, 13, 2);
  EXPECT_EQ(falls, (std::vector<std::string>{"         7 ⢣ ", "         0  ⢣"}));
  const auto level = plotted({series("train", {2, 2, 2})}, 14, 1);
  EXPECT_EQ(level[0].substr(0, 11), "         2 ");
  EXPECT_EQ(plotted({}, 20, 3).size(), 3u);
  // Of steps 1 to 2 alone, as if there were no others.
  EXPECT_EQ(plotted({series("train", {90, 7, 0, -90})}, 13, 2, {1, 2}), falls);
  EXPECT_EQ(plotted({series("train", {std::nan(""), 1})}, 12, 1)[0].substr(0, 11), "         1 ");
}

TEST(Plot, StaysInsideWhateverItsNumbersAre) {
  const double huge = 9e307, infinite = std::numeric_limits<double>::infinity();
  const auto bend = [](const std::vector<std::string>& lines) {  // without the labels
    return std::vector{lines[0].substr(11), lines[1].substr(11)};
  };
  // The range of these is infinite as a float64.
  EXPECT_EQ(bend(plotted({series("train", {huge, -huge})}, 13, 2)), bend(plotted({series("train", {7, 0})}, 13, 2)));
  // From a step to itself there is no way.
  EXPECT_EQ(plotted({series("train", {90, 7, 0})}, 13, 1, {1, 1})[0], "         7 ⠁ ");
  Series odd{"train", "loss"};
  odd.add(infinite, 1);
  odd.add(-infinite, 1);
  odd.add(std::nan(""), 1);
  odd.add(1, infinite);
  EXPECT_TRUE(odd.points.empty());
  EXPECT_EQ(odd.seen, 0);
}

TEST(Plot, TakesNoCurvesOfWhatIsNoNumber) {
  Histories histories;
  histories.on(training::Step{{.step = 3}, 0.5, {}, 8, 0.1});
  const auto broken = [&](const std::string& list) {
    return sentence_of([&] {
      Histories taken = histories;
      taken.visit_state([&](const std::string& name, auto& part) {
        if constexpr (std::is_same_v<decltype(part), std::vector<double>&>)
          if (name == list) part.at(0) = std::nan("");
      });
    });
  };
  EXPECT_EQ(broken("none"), "");
  EXPECT_EQ(broken("steps"), "DataError: curves: a point that is no finite number");
  EXPECT_EQ(broken("values"), "DataError: curves: a point that is no finite number");
}

TEST(Plot, KeepsEverySecondPointOfTooMany) {
  Series many{"train", "loss"};
  for (int i = 0; i < 20'000; ++i) many.add(i, i);
  EXPECT_LE(many.points.size(), Series::kMost);
  EXPECT_GE(many.points.size(), Series::kMost / 2);
  EXPECT_EQ(many.every, 8);
  for (std::size_t i = 0; i < many.points.size(); ++i) ASSERT_EQ(many.points[i].step, 8.0 * static_cast<double>(i));
}

TEST(Plot, KeepsTheLeastAndTheGreatestOverACheckpoint) {
  const auto evaluation = [](double loss, bool complete = true) {
    return training::Evaluation{{}, "valid", {{"loss", loss}}, complete};
  };
  Histories before;
  before.on(evaluation(9, false));
  ASSERT_EQ(before.rows().size(), 1u);
  EXPECT_EQ(before.rows()[0]->last, 9);  // as long as there is nothing better
  EXPECT_FALSE(before.rows()[0]->measured());
  for (const double loss : {3.0, 1.0, 2.0}) before.on(evaluation(loss));
  Histories after;
  RecordedObjects written, read;
  written.add("curves", before);
  read.add("curves", after);
  read.restore(written.snapshot({}), "a checkpoint");
  after.on(evaluation(5, false));  // of a part of an epoch
  after.on(evaluation(2.5));
  after.on(training::Evaluation{{}, "valid", {{"loss", std::nan(""), "nothing was measured"}}, false});
  const Series& row = *after.rows().at(0);
  EXPECT_EQ(row.least, 1);
  EXPECT_EQ(row.greatest, 3);
  EXPECT_EQ(row.last, 2.5);
  EXPECT_TRUE(row.known);

  Board board;
  board.histories = after;
  const auto lines = screen_of(board, {}, {100, 24}, false);
  EXPECT_TRUE(std::ranges::any_of(lines, [](const std::string& line) {
    return line.find("valid    loss                              2.5            1            3") == 0;
  })) << ::testing::PrintToString(lines);
}

/// How many letters a line has on the screen.
int letters(const std::string& line) {
  int count = 0;
  for (int width = 1; clipped(line, width) != line; ++width) count = width;
  return count + 1;
}

Board board() {
  Board made;
  made.progress.on(training::Begin{.batches = 10, .epochs = 4});
  for (std::int64_t step = 1; step <= 25; ++step) {
    const training::Step event{
        {.epoch = step / 10, .batch = step % 10, .step = step}, 1.0 / static_cast<double>(step), {0.5}, 8, 0.1};
    made.progress.on(event);
    made.histories.on(event);
  }
  const training::Evaluation valid{{.step = 20}, "valid", {{"loss", 0.25}, {"accuracy", 0.75}}};
  made.histories.on(valid);
  made.say("a sentence");
  return made;
}

TEST(Dashboard, FitsScreensOfAnySize) {
  const Board made = board();
  for (const ScreenSize size : {ScreenSize{80, 24}, {200, 60}, {20, 5}, {1, 1}}) {
    const auto lines = screen_of(made, {}, size);
    EXPECT_GE(static_cast<int>(lines.size()), std::min(size.height, 2));
    for (const auto& line : lines) EXPECT_LE(letters(clipped(line, size.width)), size.width) << line;
  }
  const auto lines = screen_of(made, {}, {80, 24}, false);
  EXPECT_EQ(lines.size(), 24u);
  EXPECT_EQ(lines[0], "epoch 3/4  step 25  loss 0.04  rate 0.5  80 items/s");
  const auto has = [&](const std::string& words) {
    return std::any_of(lines.begin(), lines.end(), [&](const auto& line) { return line.find(words) != line.npos; });
  };
  EXPECT_TRUE(has("valid    accuracy                         0.75         0.75         0.75"));
  EXPECT_TRUE(has("a sentence"));
  EXPECT_FALSE(has("GiB"));
  Board watched = made;
  watched.machine.look();
  const auto more = screen_of(watched, {}, {80, 24}, false);
  EXPECT_EQ(more.size(), 24u);
  EXPECT_EQ(more[2], watched.machine.line());
  EXPECT_NE(more[2].find("GiB"), std::string::npos);
  watched.histories.on(training::Evaluation{{}, "valid", {{"accuracy", std::nan(""), "nothing was measured"}}});
  const auto rest = screen_of(watched, {}, {80, 24}, false);
  const std::string row = "valid    accuracy                            -         0.75         0.75";
  EXPECT_NE(std::find(rest.begin(), rest.end(), row), rest.end());
}

TEST(Dashboard, ChoosesMetricsAndZooms) {
  const Board made = board();
  View view;
  EXPECT_EQ(made.histories.metrics(), (std::vector<std::string>{"loss", "rate", "accuracy"}));
  view.press(Press::Left, made);
  EXPECT_EQ(view.metric, 2u);
  view.press(Press::Right, made);
  EXPECT_EQ(view.metric, 0u);
  view.press(Press::Down, made);
  EXPECT_EQ(view.zoom, 0);
  EXPECT_EQ(view.steps(made).from, 0);
  view.press(Press::Up, made);
  EXPECT_EQ(view.zoom, 1);
  EXPECT_EQ(view.steps(made).from, 12.5);  // the later half of 25 steps
}

TEST(Dashboard, GoesBackThroughTheSteps) {
  Board made = board();
  View view;
  view.press(Press::Back, made);  // there is nothing before all
  EXPECT_EQ(view.steps(made).from, 0);
  view.press(Press::Up, made);
  view.press(Press::Up, made);  // a quarter: 18.75 to 25
  view.press(Press::Back, made);
  EXPECT_EQ(view.steps(made).from, 15.625);
  EXPECT_EQ(view.steps(made).to, 21.875);
  made.progress.on(training::Step{{.epoch = 2, .batch = 6, .step = 30}, 0.1, {0.5}, 8, 0.1});
  EXPECT_EQ(view.steps(made).from, 15);  // still around 18.75
  EXPECT_EQ(view.steps(made).to, 22.5);
  for (int i = 0; i < 3; ++i) view.press(Press::Forward, made);
  EXPECT_EQ(view.steps(made).from, 22.5);  // and follows again
  made.progress.on(training::Step{{.epoch = 3, .batch = 2, .step = 32}, 0.1, {0.5}, 8, 0.1});
  EXPECT_EQ(view.steps(made).from, 24);
  for (int i = 0; i < 9; ++i) view.press(Press::Back, made);
  EXPECT_EQ(view.steps(made).from, 0);
  EXPECT_EQ(view.steps(made).to, 8);
  view.press(Press::Down, made);
  view.press(Press::Down, made);
  EXPECT_EQ(view.steps(made).from, 0);
}

TEST(Dashboard, ShowsWordsAndPlotsNumbers) {
  Board made = board();
  made.histories.on(training::Evaluation{{}, "valid", {{"sample", std::nan(""), {}, "once upon\na time"}}});
  EXPECT_EQ(made.histories.metrics(), (std::vector<std::string>{"loss", "rate", "accuracy"}));
  const auto lines = screen_of(made, {}, {100, 30}, false);
  EXPECT_NE(std::ranges::find(lines, "valid    sample                   once upon\\x0aa time"), lines.end())
      << ::testing::PrintToString(lines);
}

TEST(Dashboard, IsChosenFromByTheMouse) {
  Board made = board();
  made.histories.on(training::Evaluation{{}, "train", {{"loss", 0.5}, {"accuracy", 0.125}}});
  constexpr ScreenSize kSize{100, 30};
  View view;
  const auto click = [&](std::string_view words, int more = 0) {
    const auto lines = screen_of(made, view, kSize, false);
    for (int row = 0; row < std::ssize(lines); ++row) {
      const std::size_t at = lines[static_cast<std::size_t>(row)].find(words);
      if (at == std::string::npos) continue;
      const auto target = target_at(made, kSize, {static_cast<int>(at) + more, row});
      if (target) view.choose(*target, made);
      return target.has_value();
    }
    return false;
  };
  const auto first_row = [&] {
    const auto lines = screen_of(made, view, kSize, false);
    const auto heading = std::ranges::find_if(lines, [](const auto& line) { return line.starts_with("split"); });
    return (heading + 1)->substr(0, 18);
  };
  EXPECT_TRUE(click(" loss  rate  accuracy ", 14));
  EXPECT_EQ(view.metric, 2u);
  EXPECT_TRUE(click("  rate  ", 2));
  EXPECT_EQ(view.metric, 1u);
  EXPECT_TRUE(click("train    accuracy"));  // a row
  EXPECT_EQ(view.metric, 2u);
  EXPECT_EQ(first_row(), "valid    loss     ");
  EXPECT_TRUE(click("last"));
  EXPECT_EQ(view.sorted_by, TableColumn::Last);
  EXPECT_EQ(first_row(), "train    accuracy ");  // 0.125 is the least
  EXPECT_TRUE(click("last^"));
  EXPECT_EQ(first_row(), "valid    accuracy ");  // 0.75
  EXPECT_TRUE(click("train    loss"));           // rows are chosen as they are shown
  EXPECT_EQ(view.metric, 0u);
  EXPECT_TRUE(click("lastv"));
  EXPECT_EQ(view.sorted_by, std::nullopt);
  EXPECT_TRUE(click("metric", 3));
  EXPECT_EQ(first_row(), "valid    accuracy ");
  EXPECT_FALSE(click("epoch 3/4"));
  EXPECT_FALSE(click("q: stop"));
  for (int row = -1; row < 40; ++row)
    for (int column = -1; column < 120; ++column)
      if (const auto target = target_at(made, kSize, {column, row})) view.choose(*target, made);
  for (const ScreenSize size : {ScreenSize{1, 1}, {20, 5}})
    for (int row = 0; row < 6; ++row)
      if (const auto target = target_at(made, size, {0, row})) view.choose(*target, made);
}

TEST(Terminal, TakesKeysOffItsBytesOneByOne) {
  const auto all = [](std::string bytes, std::string* rest = nullptr) {
    std::vector<Press> keys;
    ScreenPlace clicked;
    for (Press key; (key = take_key(bytes, clicked)) != Press::None;) keys.push_back(key);
    if (rest) *rest = bytes;
    return keys;
  };
  using enum Press;
  EXPECT_EQ(all("qst<g"), (std::vector{Stop, Save, Unsaved, Back, GoOn}));
  EXPECT_EQ(all("\x1b[A\x1bOB\x1b[C\x1b[1;5Dx"), (std::vector{Up, Down, Right, Other, Other}));
  EXPECT_EQ(all("\x1b"), std::vector{GoOn});
  EXPECT_EQ(all("\x1b[<64;1;1M\x1b[<65;1;1M\x1b[<0;1;1m\x1b[<2;1;1M\x1b[<M"),
            (std::vector{WheelUp, WheelDown, Mouse, Mouse, Mouse}));
  EXPECT_EQ(all("\x1b[<99999999999;1;1M"), std::vector{Mouse});
  std::string rest;
  EXPECT_TRUE(all("\x1b[<0;12", &rest).empty());
  EXPECT_EQ(rest, "\x1b[<0;12");  // the rest of it is still to come
  EXPECT_TRUE(all("\x1b[" + std::string(100, '0'), &rest).empty());
  EXPECT_EQ(rest, "");
  ScreenPlace clicked;
  std::string bytes = "\x1b[<0;12;3M";
  EXPECT_EQ(take_key(bytes, clicked), Click);
  EXPECT_EQ(clicked.column, 11);
  EXPECT_EQ(clicked.row, 2);
}

TEST(Terminal, CutsLinesByLettersNotBytes) {
  EXPECT_EQ(clipped("\x1b[31mäöü\x1b[0m", 2), "\x1b[31mäö");
  EXPECT_EQ(clipped("ab", 5), "ab");
  EXPECT_EQ(clipped("ab\x1b[", 5), "ab\x1b[");
}

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
    EXPECT_LE(letters(line), 30) << line;
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
