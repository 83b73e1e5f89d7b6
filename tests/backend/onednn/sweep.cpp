// Compares oneDNN's convolutions, and Kiln's on top of them, with plain loops over as many geometries as there is time
// for:  sweep_onednn --count 50000 --jobs 16 [--first 0] [--seed 1] [--seconds 60]
//            or, for the geometries that earlier failures name:  sweep_onednn --cases failures.txt
//
// A line for each failure, then totals; exit status 1 if something failed. ONEDNN_MAX_CPU_ISA chooses the kernels;
// --unguarded runs those as well that mistakes.cpp declines. A process that crashes or hangs counts as a failure of the
// geometry that it was busy with.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>

#include <dnnl.h>

#include "kiln/backend/cpu/onednn/mistakes.hpp"

#include "tests/backend/onednn/agreement.hpp"

namespace {

using namespace kiln;
using namespace kiln::cpu::onednn;

struct Options {
  std::uint64_t first = 0, count = 1000, seed = 1, jobs = 1, seconds = 1'000'000, pass = 4, patience = 60;
  bool primitives = true, kernels = true;
  std::vector<Geometry> cases;  // in place of random ones

  Geometry geometry(std::uint64_t index) const {
    return cases.empty() ? draw_geometry(seed, index) : cases[static_cast<std::size_t>(index)];
  }
};

/// What the processes count together.
struct Totals {
  static constexpr int kKinds = 2, kPasses = 4, kTypes = 3, kOutcomes = 3;
  enum Outcome { Right, None, Failed };
  std::atomic<long> of[kKinds][kPasses][kTypes][kOutcomes];
  std::atomic<long> geometries;
};
/// What one of them is busy with.
struct Busy {
  std::atomic<std::uint64_t> index;
  std::atomic<int> kind, pass, type;
};

constexpr const char* kKindNames[] = {"primitive", "kernel"};
constexpr const char* kTypeNames[] = {"f32", "bf16", "f16"};
constexpr DType kTypes[] = {DType::F32, DType::BF16, DType::F16};
constexpr Pass kPasses[] = {Pass::Forward, Pass::Data, Pass::Weight};
constexpr const char* kPassNames[] = {"forward", "data", "weight", "matmul"};

void print_line(const std::string& line) {
  const std::string whole = line + "\n";
  if (::write(STDOUT_FILENO, whole.data(), whole.size()) < 0) std::abort();
}

class Sweep {
 public:
  Sweep(const Options& options, Totals& totals, Busy& busy) : options_(options), totals_(totals), busy_(busy) {}

  void run(std::uint64_t index) {
    const Geometry g = options_.geometry(index);
    const Truth truth(g, index);
    const bool bias = index % 3 == 0, plain = index % 8 < 4;
    const auto shift = static_cast<std::int64_t>(index % 5 == 0 ? 0 : index % 37);
    for (int pass = 0; pass < 3; ++pass) {
      if (options_.pass < 4 && pass != static_cast<int>(options_.pass)) continue;
      if (options_.primitives)
        for (int type = 0; type < 2; ++type)
          count(index, 0, pass, type, describe(g) + (bias && pass == 0 ? " bias" : ""),
                [&] { return check_primitive(g, truth, kPasses[pass], kTypes[type], bias, shift); });
      // A kernel takes as long as ten primitives: beside them, every fourth geometry will do.
      if (options_.kernels && (!options_.primitives || index % 4 == 0))
        for (int type = 0; type < 3; ++type)
          count(index, 1, pass, type, describe(g) + (bias && pass == 0 ? " bias" : ""),
                [&] { return check_kernel(g, truth, kPasses[pass], kTypes[type], bias, plain); });
    }
    if (options_.kernels && index % 4 == 0)
      for (int type = 1; type < 3; ++type) {
        std::string sizes;
        count(index, 1, 3, type, sizes, [&] { return check_matmul(options_.seed, index, kTypes[type], sizes); });
      }
    ++totals_.geometries;
  }

 private:
  template <class Check>
  void count(std::uint64_t index, int kind, int pass, int type, const std::string& what, Check&& check) {
    busy_.kind = kind;
    busy_.pass = pass;
    busy_.type = type;
    ::alarm(static_cast<unsigned>(options_.patience));  // its signal ends the process
    const Finding finding = check();
    const auto outcome = finding.failed()                      ? Totals::Failed
                         : finding.what == Finding::What::None ? Totals::None
                                                               : Totals::Right;
    ++totals_.of[kind][pass][type][outcome];
    if (!finding.failed()) return;
    char error[32];
    std::snprintf(error, sizeof error, "%.1e", finding.error);
    print_line(std::string("FAILED ") + kKindNames[kind] + " " + kPassNames[pass] + " " + kTypeNames[type] + " " +
               name(finding.what) + " " + error +
               " impl=" + (finding.implementation.empty() ? "-" : finding.implementation) +
               " i=" + std::to_string(index) + " " + what);
  }

  const Options& options_;
  Totals& totals_;
  Busy& busy_;
};

template <class T>
T* shared(std::size_t count) {
  void* const memory = ::mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  return static_cast<T*>(memory);
}

/// Every jobs-th geometry from `from` on, in a process of its own.
pid_t start(const Options& options, std::uint64_t from, std::chrono::steady_clock::time_point end, Totals& totals,
            Busy& busy) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  Sweep sweep(options, totals, busy);
  for (std::uint64_t i = from; i < options.first + options.count; i += options.jobs) {
    if (std::chrono::steady_clock::now() >= end) break;
    busy.index = i;
    sweep.run(i);
  }
  ::_exit(0);
}

int sweep(const Options& options) {
  auto& totals = *shared<Totals>(1);
  Busy* const busy = shared<Busy>(options.jobs);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(options.seconds);
  std::map<pid_t, std::uint64_t> jobs;
  int deaths = 0;
  for (std::uint64_t job = 0; job < options.jobs; ++job)
    jobs[start(options, options.first + job, end, totals, busy[job])] = job;
  while (!jobs.empty()) {
    int status = 0;
    const pid_t child = ::wait(&status);
    const std::uint64_t job = jobs.at(child);
    jobs.erase(child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    const Busy& last = busy[job];
    const std::string end_of_it = WIFSIGNALED(status) ? std::string(::strsignal(WTERMSIG(status))) : "an exception";
    print_line(std::string("FAILED ") + kKindNames[last.kind] + " " + kPassNames[last.pass] + " " +
               kTypeNames[last.type] + " died: " + end_of_it + " i=" + std::to_string(last.index) + " " +
               (last.pass == 3 ? "" : describe(options.geometry(last.index))));
    ++totals.of[last.kind][last.pass][last.type][Totals::Failed];
    constexpr int kMostDeaths = 1000;
    if (++deaths < kMostDeaths) jobs[start(options, last.index + options.jobs, end, totals, busy[job])] = job;
  }

  const dnnl_version_t& version = *dnnl_version();
  const char* const isa = std::getenv("ONEDNN_MAX_CPU_ISA");
  std::printf("oneDNN %d.%d.%d, ONEDNN_MAX_CPU_ISA %s, seed %llu, geometries from %llu on: %ld\n", version.major,
              version.minor, version.patch, isa ? isa : "default", static_cast<unsigned long long>(options.seed),
              static_cast<unsigned long long>(options.first), totals.geometries.load());
  long failed = 0;
  for (int kind = 0; kind < Totals::kKinds; ++kind)
    for (int pass = 0; pass < Totals::kPasses; ++pass)
      for (int type = 0; type < Totals::kTypes; ++type) {
        const auto& of = totals.of[kind][pass][type];
        if (of[0] + of[1] + of[2] == 0) continue;
        failed += of[Totals::Failed];
        std::printf("total %-9s %-7s %-4s right %ld, none %ld, failed %ld\n", kKindNames[kind], kPassNames[pass],
                    kTypeNames[type], of[Totals::Right].load(), of[Totals::None].load(), of[Totals::Failed].load());
      }
  std::printf("failed: %ld\n", failed);
  return failed > 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  const std::map<std::string, std::uint64_t*> numbers = {{"--first", &options.first},      {"--count", &options.count},
                                                         {"--seed", &options.seed},        {"--jobs", &options.jobs},
                                                         {"--seconds", &options.seconds},  {"--pass", &options.pass},
                                                         {"--patience", &options.patience}};
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto number = numbers.find(argument);
    if (number != numbers.end() && i + 1 < argc) *number->second = std::strtoull(argv[++i], nullptr, 10);
    else if (argument == "--primitives") options.kernels = false;
    else if (argument == "--kernels") options.primitives = false;
    else if (argument == "--unguarded") trust_everything(true);
    else if (argument == "--cases" && i + 1 < argc) {
      std::ifstream file(argv[++i]);
      for (std::string line; std::getline(file, line);)
        if (line.find(" ic=") != std::string::npos) options.cases.push_back(geometry(line));
    } else {
      std::fprintf(
          stderr,
          "sweep_onednn [--first N] [--count N] [--seed N] [--jobs N] [--seconds N] [--primitives | --kernels]\n"
          "             [--cases FILE] [--pass 0..2] [--patience SECONDS] [--unguarded]\n");
      return 2;
    }
  }
  if (options.jobs == 0) options.jobs = 1;
  if (!options.cases.empty()) {
    options.first = 0;
    options.count = options.cases.size();
  }
  ::setenv("KILN_POISON", "1", 1);  // before anything asks for memory
  return sweep(options);
}
