// What a step of the guide's training costs here, on a server of this machine, and over a link of 100 Mbit/s with delays:
// `measure_remote_training [STEPS]`. It is no test, as tests measure no time.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "examples/guide/model.hpp"
#include "examples/guide/settings.hpp"
#include "examples/guide/source.hpp"
#include "kiln/backend/remote/address.hpp"
#include "kiln/backend/remote/hosting.hpp"
#include "kiln/backend/remote/remote.hpp"
#include "kiln/data/image_tensors.hpp"
#include "kiln/data/loader.hpp"
#include "kiln/optim/rules/adam.hpp"
#include "kiln/train/learner.hpp"
#include "kiln/train/metric/accuracy.hpp"
#include "tests/support/faulty_proxy.hpp"

namespace kiln {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::int64_t kWarm = 20;  // steps that are not measured

struct Times {
  Clock::time_point* from;
  void on(const training::Step& step) {
    if (step.at.step == kWarm) *from = Clock::now();
  }
};

/// Milliseconds of a step, with readings of the metrics every 50 steps.
double step_time(const Device& plain, std::int64_t steps) {
  const Device device = plain.autodiff();
  const guide::Settings settings;
  const guide::Source source = guide::open_source("digits");
  device.seed(settings.seed);
  guide::Model model = kiln::train(settings.model.init(device));
  Adam optimizer = AdamConfig{}.init(model);
  const auto step = [device](const guide::Model& m, ImageBatch batch) -> ClassificationOutput {
    const auto [images, targets] = to_tensors(std::move(batch), device);
    const Tensor<2> scores = m.forward(images);
    return {nn::CrossEntropyLoss{}.forward(scores, targets), scores, targets};
  };
  DataLoader loader(source.train, ImageBatcher::normalized(),
                    {.batch_size = settings.batch_size, .shuffle = true, .seed = settings.seed, .workers = 1});
  Learner learner(std::move(model), std::move(optimizer), step, LearnerConfig{.steps = steps, .seed = settings.seed});
  Clock::time_point from;
  learner.rate(settings.learning_rate).metric(metric::Accuracy{}).add(Times{&from});
  learner.fit(loader);
  return 1e3 * std::chrono::duration<double>(Clock::now() - from).count() / static_cast<double>(steps - kWarm);
}

Device client(int port, remote::Compression compression) {
  return Device(make_ref<remote::Remote>(remote::dial_of(text("127.0.0.1:", port)),
                                         remote::ClientSettings{.compression = compression}));
}

void measure(std::int64_t steps) {
  const auto running = host(Device::cpu(), {.port = 0});
  struct Link {
    const char* name;
    test::Faults faults;
    remote::Compression compression;
    std::vector<double> times{};
  };
  constexpr double kRate = 100e6 / 8;
  using enum remote::Compression;
  std::vector<Link> links = {{"same machine", {}, Never},
                             {"100 Mbit/s, there and back in 20 ms", {0.01, kRate}, Always},
                             {"100 Mbit/s, there and back in 40 ms", {0.02, kRate}, Always},
                             {"100 Mbit/s, 40 ms, not packed", {0.02, kRate}, Never}};
  std::vector<double> here;
  constexpr int kRounds = 3;
  for (int round = 0; round < kRounds; ++round) {
    here.push_back(step_time(Device::cpu(), steps));
    for (Link& link : links) {
      test::FaultyProxy proxy(running->port(), link.faults, link.faults);
      const bool direct = link.faults.delay == 0;
      link.times.push_back(step_time(client(direct ? running->port() : proxy.port(), link.compression), steps));
    }
  }
  const auto median = [](std::vector<double> all) {
    std::ranges::sort(all);
    return all[all.size() / 2];
  };
  const double local = median(here);
  std::printf("%-40s %6.2f ms a step\n", "here", local);
  for (const Link& link : links)
    std::printf("%-40s %6.2f ms a step, %.2f times\n", link.name, median(link.times), median(link.times) / local);
}

}  // namespace
}  // namespace kiln

int main(int argc, char** argv) { kiln::measure(argc > 1 ? std::atoi(argv[1]) : 220); }
