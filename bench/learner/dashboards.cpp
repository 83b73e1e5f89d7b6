#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>

#include <pty.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/learner/learner.hpp"
#include "kiln/train.hpp"

namespace bench {

std::FILE* report = stdout;

namespace {

using namespace kiln;

std::atomic<long>* draws = nullptr;

/// What a process takes that only waits for its steps.
struct Nobody {
  template <class Event>
  void on(const Event&) {}
};

/// The share of a processor, in percent, and how often something was drawn in a second.
struct Shares {
  double taken, drawn;
};
template <class Dashboard>
Shares watched_by(const Run& run, Dashboard dashboard) {
  dashboard.on(training::Begin{.batches = 1 << 20, .epochs = 2});
  std::int64_t step = 0;
  const auto go_on = [&] {
    ++step;
    const double loss = 1.0 / static_cast<double>(step);
    const training::Position at{.batch = step, .step = step, .seconds = 0.005 * static_cast<double>(step)};
    dashboard.on(training::Step{.at = at, .loss = loss, .rates = {0.1}, .items = 64, .seconds = 0.005});
    if (step % 20 != 0) return;
    for (const char* const split : {"train", "valid"})
      dashboard.on(training::Evaluation{
          .at = at, .split = split, .readings = {{"loss", loss}, {"accuracy", 1 - loss}, {"f1", 1 - 2 * loss}}});
  };
  for (int i = 0; i < 100'000; ++i) go_on();  // so that there is a history
  const double begin = wall_seconds(), busy = process_seconds();
  const long drawn = *draws;
  while (wall_seconds() < begin + run.page_seconds) {
    go_on();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const double seconds = wall_seconds() - begin;
  return {100 * (process_seconds() - busy) / seconds, static_cast<double>(*draws - drawn) / seconds};
}

}  // namespace

void onto_terminal() {
  void* const shared = ::mmap(nullptr, sizeof *draws, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  require<IoError>(shared != MAP_FAILED, "no memory to count draws in");
  draws = new (shared) std::atomic<long>(0);
  report = ::fdopen(::dup(STDOUT_FILENO), "w");
  const winsize size{50, 160, 0, 0};
  int master = -1;
  const pid_t child = ::forkpty(&master, nullptr, nullptr, &size);
  require<IoError>(report && child >= 0, "no terminal can be made");
  if (child == 0) {
    ::setenv("TERM", "xterm", 1);
    return;
  }
  // Every draw changes the first line, where the step stands.
  constexpr std::string_view kFirstLine = "\x1b[1;1H";
  char bytes[1 << 16];
  std::size_t matched = 0;
  for (ssize_t count; (count = ::read(master, bytes, sizeof bytes)) > 0;)
    for (const char byte : std::string_view(bytes, static_cast<std::size_t>(count))) {
      matched = byte == kFirstLine[matched] ? matched + 1 : byte == kFirstLine[0];
      if (matched < kFirstLine.size()) continue;
      ++*draws;
      matched = 0;
    }
  int status = 0;
  ::waitpid(child, &status, 0);
  std::_Exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

void measure_dashboards(const Run& run) {
  const double nothing = watched_by(run, Nobody()).taken;
  const Shares page = watched_by(run, WebDashboard()), terminal = watched_by(run, Dashboard());
  std::fprintf(report, "the page takes %.2f %% of a core beside the %.2f %% of waiting for steps\n",
               page.taken - nothing, nothing);
  std::fprintf(report, "the terminal's dashboard takes %.2f %%, and draws %.1f times a second\n",
               terminal.taken - nothing, terminal.drawn);
}

}  // namespace bench
