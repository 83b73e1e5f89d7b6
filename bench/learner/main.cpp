// What a Learner adds to a loop by hand, with metrics and loggers; how long a checkpoint keeps a training waiting; and what the
// dashboards take of a processor. Times of the process, not of the clock, as far as possible: the machine may be busy.
//
//   bench_learner [--steps N] [--rounds N] [--checkpoint_mib N]; --help lists all
//
// It runs on a terminal of its own, whose other end reads what the dashboard draws, and counts.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>

#include <unistd.h>

#include "bench/learner/learner.hpp"
#include "kiln/core/config/arguments.hpp"
#include "kiln/kiln.hpp"
#include "kiln/train.hpp"

namespace bench {

double median(std::vector<double> numbers) {
  std::ranges::sort(numbers);
  return numbers[numbers.size() / 2];
}

namespace {

using namespace kiln;

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
  if (run.page_seconds > 0) measure_dashboards(run);
  if (run.scores > 0) measure_auroc(run);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) { return kiln::run_main(argc, argv, bench::measure); }
