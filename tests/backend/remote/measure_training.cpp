// Measures a step of the guide's training here, on a server of this machine, and over a link of 100 Mbit/s with delays,
// packed and not; and what uploads cost over such a link: `measure_remote_training [STEPS [DATA]]`, with data as the guide takes
// them (digits). It is no test, as tests measure no time.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
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

/// The work done so far: milliseconds, and bytes of a remote device.
struct Cost {
  double milliseconds = 0, sent = 0, received = 0;
};
Cost cost_of(const Device& device) {
  const double now = 1e3 * std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
  const auto* const remote = dynamic_cast<const remote::Remote*>(&device.backend());
  if (!remote) return {.milliseconds = now};
  const remote::ClientCounters counters = remote->counters();
  return {now, static_cast<double>(counters.bytes_sent), static_cast<double>(counters.bytes_received)};
}
Cost difference(const Cost& after, const Cost& before, double parts = 1) {
  return {(after.milliseconds - before.milliseconds) / parts, (after.sent - before.sent) / parts,
          (after.received - before.received) / parts};
}

struct Begin {
  const Device* device;
  Cost* from;
  void on(const training::Step& step) {
    if (step.at.step == kWarm) *from = cost_of(*device);
  }
};

/// The cost of a step, with readings of the metrics every 50 steps.
Cost step_cost(const Device& plain, const std::string& data, std::int64_t steps) {
  const Device device = plain.autodiff();
  const guide::Settings settings;
  const guide::Source source = guide::open_source(data);
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
  Cost from;
  learner.rate(settings.learning_rate).metric(metric::Accuracy{}).add(Begin{&plain, &from});
  learner.fit(loader);
  return difference(cost_of(plain), from, static_cast<double>(steps - kWarm));
}

Cost upload_cost(const Device& device, const TensorData& data) {
  device.sync();
  const Cost before = cost_of(device);
  const Value there = from_data(data, device);
  device.sync();
  return difference(cost_of(device), before);
}

Device client(int port, remote::Compression compression) {
  return Device(make_ref<remote::Remote>(remote::dial_of(text("127.0.0.1:", port)),
                                         remote::ClientSettings{.compression = compression}));
}

constexpr double kRate = 100e6 / 8;  // bytes a second

Cost median(std::vector<Cost> all) {
  std::ranges::sort(all, {}, &Cost::milliseconds);
  return all[all.size() / 2];
}

void measure_steps(const Hosting& running, const std::string& data, std::int64_t steps) {
  struct Link {
    const char* name;
    test::Faults faults;
    remote::Compression compression;
    std::vector<Cost> costs{};
  };
  using enum remote::Compression;
  std::vector<Link> links = {{"same machine", {}, Never},
                             {"100 Mbit/s, there and back in 20 ms", {0.01, kRate}, Never},
                             {"the same, packed", {0.01, kRate}, Always},
                             {"100 Mbit/s, there and back in 40 ms", {0.02, kRate}, Never},
                             {"the same, packed", {0.02, kRate}, Always}};
  std::vector<Cost> here;
  constexpr int kRounds = 3;
  for (int round = 0; round < kRounds; ++round) {
    here.push_back(step_cost(Device::cpu(), data, steps));
    for (Link& link : links) {
      test::FaultyProxy proxy(running.port(), link.faults, link.faults);
      const bool direct = link.faults.delay == 0;
      link.costs.push_back(step_cost(client(direct ? running.port() : proxy.port(), link.compression), data, steps));
    }
  }
  const double local = median(here).milliseconds;
  std::printf("%-40s %6.2f ms a step\n", "here", local);
  for (const Link& link : links) {
    const Cost cost = median(link.costs);
    std::printf("%-40s %6.2f ms a step, %.2f times; %.0f bytes sent and %.0f received\n", link.name, cost.milliseconds,
                cost.milliseconds / local, cost.sent, cost.received);
  }
}

void measure_uploads(const Hosting& running, const std::string& data) {
  const guide::Source source = guide::open_source(data);
  TensorData pictures;
  for (ImageBatch& batch : DataLoader(source.train, ImageBatcher::normalized(), {.batch_size = 2048})) {
    pictures = std::move(batch.images);
    break;
  }
  TensorData weights(Shape{1'600'000}, DType::F32), words(Shape{800'000}, DType::I64);
  std::mt19937 random(1);
  for (float& each : weights.as<float>()) each = std::normal_distribution<float>(0, 0.05f)(random);
  for (std::int64_t& each : words.as<std::int64_t>()) each = static_cast<std::int64_t>(random() % 50'000);
  struct Kind {
    const char* name;
    const TensorData* data;
  };
  for (const Kind& kind :
       {Kind{"pictures", &pictures}, Kind{"normal float32", &weights}, Kind{"numbers of words, int64", &words}}) {
    for (const auto compression : {remote::Compression::Never, remote::Compression::Always}) {
      test::FaultyProxy proxy(running.port(), {0.01, kRate}, {0.01, kRate});
      const Device device = client(proxy.port(), compression);
      std::vector<Cost> costs;
      for (int round = 0; round < 3; ++round) costs.push_back(upload_cost(device, *kind.data));
      const Cost cost = median(costs);
      std::printf("upload of %zu bytes, %s%s: %.0f ms, %.0f bytes\n", kind.data->bytes().size(), kind.name,
                  compression == remote::Compression::Always ? ", packed" : "", cost.milliseconds, cost.sent);
    }
  }
}

void measure(std::int64_t steps, const std::string& data) {
  const auto running = host(Device::cpu(), {.port = 0});
  measure_uploads(*running, data);
  measure_steps(*running, data, steps);
}

}  // namespace
}  // namespace kiln

int main(int argc, char** argv) { kiln::measure(argc > 1 ? std::atoi(argv[1]) : 220, argc > 2 ? argv[2] : "digits"); }
