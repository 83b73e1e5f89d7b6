#include "tests/programs/stateful/batch.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "tests/programs/stateful/check.hpp"

namespace kiln::stateful {
namespace {

constexpr std::uint64_t kBatch = 25;  // programs of one process

// ---- a process -----------------------------------------------------------------------------------------------------

std::string own_path() {
  char path[4096];
  const auto length = readlink("/proc/self/exe", path, sizeof path - 1);
  return std::string(path, static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
}

std::ptrdiff_t vague_in(const Report& report) { return std::ranges::count_if(report.judged, &Judged::vague); }

std::string report_of(const Program& program, const Finding& wrong) {
  const Program small = shrink(program);
  std::string out = text(describe(program), "  wrong at step ", wrong.step, ": ", wrong.what, '\n');
  if (small.steps.size() < program.steps.size()) {
    const Report again = check(small);
    out += text("  these steps are enough:\n");
    for (std::size_t i = 0; i < small.steps.size(); ++i)
      out += text("    step ", i, ": ", describe(small.steps[i]), '\n');
    if (again.wrong) out += text("  where step ", again.wrong->step, ": ", again.wrong->what, '\n');
  }
  return out;
}

/// Says of each seed when it begins, and then its bits, what it saw, and what is wrong.
void check_all(std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    std::printf("begin %llu\n", static_cast<unsigned long long>(seed));
    std::fflush(stdout);
    const Program program = make_program(seed);
    const Report report = check(program);
    std::printf("bits %llu %llx %zu %td\n", static_cast<unsigned long long>(seed),
                static_cast<unsigned long long>(report.bits), report.judged.size(), vague_in(report));
    if (report.wrong) {
      const std::string wrong = report_of(program, *report.wrong);
      std::printf("%s %zu\n%s", report.wrong->plain ? "doubtful" : "wrong", wrong.size(), wrong.c_str());
    }
    std::fflush(stdout);
  }
}

/// The same programs, the last first, in a process that has run others than before: their bits.
void say_bits(std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t seed = first + count; seed-- > first;) {
    std::printf("begin %llu\n", static_cast<unsigned long long>(seed));
    std::fflush(stdout);
    std::uint64_t bits = 0;
    try {
      bits = bits_of(make_program(seed));
    } catch (const Error&) {}  // as it was the first time
    std::printf("bits %llu %llx 0 0\n", static_cast<unsigned long long>(seed), static_cast<unsigned long long>(bits));
  }
  std::fflush(stdout);
}

int show(std::uint64_t seed) {
  const Program program = make_program(seed);
  std::printf("%s", describe(program).c_str());
  std::fflush(stdout);
  const Report report = check(program);
  for (const Judged& each : report.judged)
    std::printf("  step %d: %-40s norm %9.3g, off by %9.3g, plain kernels %9.3g, allowed %9.3g%s\n", each.step,
                each.name.c_str(), each.size, each.error, each.own, each.allowed, each.vague() ? ", vague" : "");
  std::printf("bits %llx\n", static_cast<unsigned long long>(report.bits));
  if (report.wrong) std::printf("%s", report_of(program, *report.wrong).c_str());
  return report.wrong.has_value();
}

// ---- many ----------------------------------------------------------------------------------------------------------

/// What a process of ours said of its seeds.
struct Said {
  std::map<std::uint64_t, std::uint64_t> bits;
  std::optional<std::uint64_t> began;  // and did not end
  std::int64_t seen = 0, vague = 0;
  std::vector<std::string> wrong, doubtful;
  int status = 0;
};

Said listen(const char* mode, std::uint64_t first, std::uint64_t count) {
  Said said;
  FILE* const pipe = popen(text("exec '", own_path(), "' ", mode, ' ', first, ' ', count, " 2>&1").c_str(), "r");
  if (!pipe) return said.status = -1, said;
  char line[4096];
  std::string rest;
  while (std::fgets(line, sizeof line, pipe)) {
    unsigned long long seed = 0, bits = 0;
    int seen = 0, vague = 0;
    std::size_t length = 0;
    if (std::sscanf(line, "begin %llu", &seed) == 1) {
      said.began = seed;
    } else if (std::sscanf(line, "bits %llu %llx %d %d", &seed, &bits, &seen, &vague) == 4) {
      said.bits[seed] = bits;
      said.seen += seen;
      said.vague += vague;
      said.began.reset();
    } else if (std::sscanf(line, "wrong %zu", &length) == 1 || std::sscanf(line, "doubtful %zu", &length) == 1) {
      std::string report(length, ' ');
      report.resize(std::fread(report.data(), 1, length, pipe));
      (line[0] == 'w' ? said.wrong : said.doubtful).push_back(std::move(report));
    } else {
      rest += line;  // of a process that dies
    }
  }
  said.status = pclose(pipe);
  if (said.began)
    said.wrong.push_back(text(describe(make_program(*said.began)), "  the process ended with status ",
                              WIFSIGNALED(said.status) ? -WTERMSIG(said.status) : WEXITSTATUS(said.status), "\n",
                              rest));
  return said;
}

void check_batch(std::uint64_t first, std::uint64_t count, Outcome& outcome, std::mutex& mutex) {
  while (count > 0) {
    const Said one = listen("--check", first, count);
    // After a crash go on behind it.
    const std::uint64_t done = one.began ? *one.began + 1 - first : count;
    const Said other = listen("--bits", first, done);
    const std::lock_guard lock(mutex);
    outcome.programs += static_cast<std::int64_t>(done);
    outcome.seen += one.seen;
    outcome.vague += one.vague;
    for (const std::string& wrong : one.wrong) outcome.wrong.push_back(wrong);
    for (const std::string& doubtful : one.doubtful) outcome.doubtful.push_back(doubtful);
    if (!one.began && one.status != 0) outcome.wrong.push_back(text("a process ended with status ", one.status, '\n'));
    for (const auto& [seed, bits] : one.bits)
      if (const auto found = other.bits.find(seed); found != other.bits.end() && found->second != bits)
        outcome.wrong.push_back(text(describe(make_program(seed)), "  has other bits in another process\n"));
    first += done;
    count -= done;
  }
}

}  // namespace

Outcome run_batches(std::uint64_t first, std::uint64_t count, int jobs) {
  Outcome outcome;
  std::mutex mutex;
  std::uint64_t next = first;
  const auto work = [&] {
    for (;;) {
      std::uint64_t begin = 0, length = 0;
      {
        const std::lock_guard lock(mutex);
        begin = next;
        length = std::min(kBatch, first + count - next);
        next += length;
      }
      if (length == 0) return;
      check_batch(begin, length, outcome, mutex);
    }
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < jobs; ++i) threads.emplace_back(work);
  threads.clear();
  return outcome;
}

int main_of(int argc, char** argv, bool& handled) {
  handled = argc > 2 && std::strncmp(argv[1], "--gtest", 7) != 0;
  if (!handled) return 0;
  const std::string mode = argv[1];
  const auto number = [&](int i) { return i < argc ? std::strtoull(argv[i], nullptr, 10) : 0; };
  if (mode == "--check") return check_all(number(2), number(3)), 0;
  if (mode == "--bits") return say_bits(number(2), number(3)), 0;
  if (mode == "--one") return show(number(2));
  std::uint64_t from = 0, count = 500, jobs = std::max(1u, std::thread::hardware_concurrency());
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--from") from = number(i + 1);
    else if (option == "--count") count = number(i + 1);
    else if (option == "--jobs") jobs = number(i + 1);
    else return std::fprintf(stderr, "unknown option %s\n", argv[i]), 2;
  }
  const Outcome outcome = run_batches(from, count, static_cast<int>(jobs));
  for (const std::string& wrong : outcome.wrong) std::printf("%s\n", wrong.c_str());
  for (const std::string& doubtful : outcome.doubtful) std::printf("doubtful: %s\n", doubtful.c_str());
  std::printf("%lld programs, %zu wrong, %zu doubtful; %lld observations, %lld vague\n",
              static_cast<long long>(outcome.programs), outcome.wrong.size(), outcome.doubtful.size(),
              static_cast<long long>(outcome.seen), static_cast<long long>(outcome.vague));
  return !outcome.good();
}

}  // namespace kiln::stateful
