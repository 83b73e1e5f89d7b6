// What a Learner adds to a loop by hand, with metrics and loggers; how long a checkpoint keeps a training waiting; and what the
// dashboards take of a processor. Times of the process, not of the clock, as far as possible: the machine may be busy.
//
//   bench_learner [--steps N] [--rounds N] [--checkpoint_mib N]; --help lists all
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

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
  double page_seconds = 5;
};

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

enum class Extras { None, Metrics, Web };

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
  const double begin = process_seconds();
  learner.fit(data);
  return (process_seconds() - begin) / static_cast<double>(data.size());
}

void measure_overhead(const Run& run) {
  auto data = batches(run);
  std::vector<double> hand, ratios[3];
  by_hand(data);  // caches and plans
  for (std::int64_t round = 0; round < run.rounds; ++round) {
    hand.push_back(by_hand(data));
    for (const Extras extras : {Extras::None, Extras::Metrics, Extras::Web})
      ratios[static_cast<int>(extras)].push_back(by_learner(data, extras) / hand.back());
  }
  std::printf(
      "a step by hand %.3f ms of processors; by a Learner %+.1f %%, with metrics %+.1f %%, and the page %+.1f %% "
      "(medians of %lld)\n",
      1e3 * median(hand), 100 * (median(ratios[0]) - 1), 100 * (median(ratios[1]) - 1), 100 * (median(ratios[2]) - 1),
      static_cast<long long>(run.rounds));
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
  std::printf(
      "a checkpoint of %lld MiB: %.2f ms until training goes on, a copy takes %.0f ms, the file %.1f s (medians of "
      "3)\n",
      static_cast<long long>(run.checkpoint_mib), 1e3 * median(stalls), 1e3 * median(copies), median(writes));
}

/// The share of a processor that the page takes while steps come 200 times a second, for whoever reads it meanwhile.
void measure_page(const Run& run) {
  WebDashboard page;
  page.on(training::Begin{.batches = 1 << 20});
  const double begin = wall_seconds(), busy = process_seconds();
  std::int64_t step = 0;
  while (wall_seconds() < begin + run.page_seconds) {
    ++step;
    page.on(training::Step{.at = {.batch = step, .step = step},
                           .loss = 1.0 / static_cast<double>(step),
                           .rates = {0.1},
                           .items = 64,
                           .seconds = 0.005});
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  std::printf("the page takes %.2f %% of a core\n", 100 * (process_seconds() - busy) / (wall_seconds() - begin));
}

void measure(const Run& run) {
  if (run.rounds > 0) measure_overhead(run);
  if (run.checkpoint_mib > 0) measure_checkpoint(run);
  if (run.page_seconds > 0) measure_page(run);
}

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, measure); }
