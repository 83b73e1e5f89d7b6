// What a Learner adds to a loop by hand, with metrics and loggers; how long a checkpoint keeps a training waiting; and what the
// dashboards take of a processor. Times of the process, not of the clock, as far as possible: the machine may be busy.
//
//   bench_learner [--steps N] [--rounds N] [--checkpoint_mib N]; --help lists all
//
// It runs on a terminal of its own, whose other end reads what the dashboard draws, and counts.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <pty.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "examples/guide/model.hpp"
#include "kiln/core/config/arguments.hpp"
#include "kiln/data/digits.hpp"
#include "kiln/data/image_tensors.hpp"
#include "kiln/data/loader.hpp"
#include "kiln/kiln.hpp"
#include "kiln/train/train.hpp"

namespace {

using namespace kiln;

struct Run {
  std::int64_t steps = 60, rounds = 9, batch = 64;
  std::int64_t checkpoint_mib = 1024;  // 0: none
  double page_seconds = 5;             // of the dashboards
  std::int64_t scores = 1'000'000;
};

// Where figures go, as the standard output is the terminal; what its other end has counted.
std::FILE* report = stdout;
std::atomic<long>* draws = nullptr;

/// Goes on in a process whose terminal this one reads until it ends.
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

double process_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}
double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
double median(std::vector<double> numbers) {
  std::ranges::sort(numbers);
  return numbers[numbers.size() / 2];
}

using guide::Model;

Model new_model() {
  const Device device = Device::cpu().autodiff();
  device.seed(1);
  return train(guide::ModelConfig{}.init(device));
}

ClassificationOutput step(const Model& m, const ImageBatch& batch) {
  const auto [images, targets] = to_tensors(batch, Device::cpu());
  const Tensor<2> scores = m.forward(images);
  return {nn::CrossEntropyLoss{}.forward(scores, targets), scores, targets};
}

std::vector<ImageBatch> batches(const Run& run) {
  DataLoader loader(Digits({.count = run.steps * run.batch, .seed = 1}), ImageBatcher::normalized(),
                    {.batch_size = run.batch});
  std::vector<ImageBatch> all;
  for (ImageBatch& batch : loader) all.push_back(std::move(batch));
  return all;
}

/// Processor seconds of a step, by hand.
double by_hand(const std::vector<ImageBatch>& data) {
  Model model = new_model();
  Adam optimizer = AdamConfig{}.init(model);
  const double begin = process_seconds();
  double sum = 0;
  for (const ImageBatch& batch : data) {
    auto [loss, grads] = value_and_grad(model, [&](const Model& m) { return step(m, batch).loss; });
    model = optimizer.step(1e-3, std::move(model), grads);
    sum += static_cast<double>(loss.item());
  }
  const double seconds = process_seconds() - begin;
  require<DataError>(sum > 0, "the losses add up to ", sum);
  return seconds / static_cast<double>(data.size());
}

enum class Extras { None, Metrics, Web, Dashboard };

double by_learner(std::vector<ImageBatch>& data, Extras extras) {
  const Model model = new_model();
  Learner learner(model, AdamConfig{}.init(model), step, {.epochs = 1});
  learner.rate(1e-3);
  if (extras != Extras::None)
    learner.metric(metric::Accuracy{})
        .metric(metric::FBeta{}, "f1")
        .train_metric(metric::ItemsPerSecond{})
        .train_metric(metric::CpuUse{})
        .train_metric(metric::CpuMemory{});
  if (extras == Extras::Web) learner.add(WebDashboard());
  if (extras == Extras::Dashboard) learner.add(Dashboard());
  const double begin = process_seconds();
  learner.fit(data);
  return (process_seconds() - begin) / static_cast<double>(data.size());
}

void measure_overhead(const Run& run) {
  auto data = batches(run);
  std::vector<double> hand, ratios[4];
  by_hand(data);  // caches and plans
  for (std::int64_t round = 0; round < run.rounds; ++round) {
    hand.push_back(by_hand(data));
    for (const Extras extras : {Extras::None, Extras::Metrics, Extras::Web, Extras::Dashboard})
      ratios[static_cast<int>(extras)].push_back(by_learner(data, extras) / hand.back());
  }
  const auto more = [&](Extras extras) { return 100 * (median(ratios[static_cast<int>(extras)]) - 1); };
  std::fprintf(report,
               "a step by hand %.3f ms of processors; by a Learner %+.1f %%, with metrics %+.1f %%, and the page %+.1f "
               "%%, or the dashboard %+.1f %% (medians of %lld)\n",
               1e3 * median(hand), more(Extras::None), more(Extras::Metrics), more(Extras::Web),
               more(Extras::Dashboard), static_cast<long long>(run.rounds));
}

struct Large {
  nn::Param<1> weights;
};

/// How long taking the snapshot keeps the caller, beside a plain copy of as many bytes.
void measure_checkpoint(const Run& run) {
  const std::int64_t count = run.checkpoint_mib << 18;
  Large model{nn::Param<1>(Tensor<1>::ones({count}, Device::cpu()))};
  const auto folder = std::filesystem::temp_directory_path() / text("kiln-bench-", ::getpid());
  std::vector<double> stalls, copies, writes;
  for (int round = 0; round < 3; ++round) {
    Checkpointer checkpointer(folder, {.last = 1});
    RecordedObjects objects;
    objects.add("model", model);
    double begin = wall_seconds();
    checkpointer.save(objects, {.step = round + 1});
    stalls.push_back(wall_seconds() - begin);
    checkpointer.finish();
    writes.push_back(wall_seconds() - begin);
    begin = wall_seconds();
    std::vector<float> copy = model.weights.to_vector();
    copies.push_back(wall_seconds() - begin);
    require<DataError>(copy.back() == 1, "the copy is none");
  }
  std::filesystem::remove_all(folder);
  std::fprintf(
      report,
      "a checkpoint of %lld MiB: %.2f ms until training goes on, a copy takes %.0f ms, the file %.1f s (medians of "
      "3)\n",
      static_cast<long long>(run.checkpoint_mib), 1e3 * median(stalls), 1e3 * median(copies), median(writes));
}

/// The share of a processor that a dashboard takes while steps come 200 times a second, and evaluations ten times.
template <class Dashboard>
void measure_dashboard(const Run& run, const char* name, Dashboard dashboard) {
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
  while (step < 100'000) go_on();  // so that there is a history
  const double begin = wall_seconds(), busy = process_seconds();
  const long drawn = *draws;
  while (wall_seconds() < begin + run.page_seconds) {
    go_on();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const double seconds = wall_seconds() - begin;
  std::fprintf(report, "the %s takes %.2f %% of a core", name, 100 * (process_seconds() - busy) / seconds);
  if (const long more = *draws - drawn)
    std::fprintf(report, ", and draws %.1f times a second", static_cast<double>(more) / seconds);
  std::fprintf(report, "\n");
}

/// The area under the curve of many predictions, of one class and of ten.
void measure_auroc(const Run& run) {
  const Device cpu = Device::cpu();
  for (const std::int64_t classes : {1, 10}) {
    cpu.seed(3);
    const Tensor<2> scores = uniform<2>({run.scores / classes, classes}, 0, 1, cpu);
    const Tensor<1, Int> targets =
        (uniform<1>({run.scores / classes}, 0, 1, cpu) * (classes == 1 ? 2.0 : 10.0)).floor().to_int();
    std::vector<double> times;
    for (int round = 0; round < 3; ++round) {
      metric::Auroc auroc;
      const double begin = process_seconds();
      if (classes == 1) auroc.update(scores.squeeze<1>(), targets);
      else auroc.update(scores, targets);
      require<DataError>(std::abs(auroc.value() - 0.5) < 0.1, "chance has an area of ", auroc.value());
      times.push_back(process_seconds() - begin);
    }
    std::fprintf(report, "AUROC of %lld scores, %lld classes: %.3f s of processors\n",
                 static_cast<long long>(run.scores), static_cast<long long>(classes), median(times));
  }
}

void measure(const Run& run) {
  onto_terminal();
  if (run.rounds > 0) measure_overhead(run);
  if (run.checkpoint_mib > 0) measure_checkpoint(run);
  if (run.page_seconds > 0) {
    measure_dashboard(run, "page", WebDashboard());
    measure_dashboard(run, "terminal's dashboard", Dashboard());
  }
  if (run.scores > 0) measure_auroc(run);
}

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, measure); }
