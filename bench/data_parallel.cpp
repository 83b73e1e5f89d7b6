// Steps of a GPT on one device and on several, each with a batch of the same size: what is lost by adding up gradients, after
// they are computed and while they are, and what by several devices working beside each other, each for itself.
//
//   bench_data_parallel [DEVICE [RANKS [STEPS [MEGABYTES]]]]
//
// cpu or cuda; two ranks and up to so many (2), steps of a round (20), and the most that a bucket has (64).
//
// A row has the median of its rounds, the least and the most. All ways take turns in one run, round by round; linear is what
// one device needs while the others rest.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/models/gpt.hpp"
#include "kiln/collective/thread_ranks.hpp"
#include "kiln/train/ranks/team.hpp"

using namespace kiln;

namespace {

constexpr int kRounds = 5, kBatch = 8;
enum Way { kAlone, kNever, kAfter, kWithin, kWays };
constexpr std::array<const char*, kWays> kNames{"alone", "never", "after", "during"};

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Milliseconds a step by each way, of rank 0.
std::array<std::vector<double>, kWays> times(const std::vector<Device>& devices, const models::GptConfig& config,
                                             int steps) {
  std::array<std::vector<double>, kWays> rounds;
  on_each(devices, [&](const Ranks& ranks, const Device& device) {
    const training::Team team(ranks);
    device.seed(1);
    models::Gpt model = train(config.init(device.autodiff()));
    AdamW optimizer = AdamWConfig{.weight_decay = 0.01}.init(model);
    const auto tokens = randint({kBatch, config.context}, 0, config.vocabulary, device);
    const auto targets = tokens.roll(-1, 1).flatten();
    const auto loss = [&](const models::Gpt& gpt) {
      const Autocast autocast(DType::BF16);
      return nn::CrossEntropyLoss{}.forward(gpt.forward(tokens).flatten<0, 1>(), targets);
    };
    const auto step = [&](int way) {
      GradientsParams grads =
          way == kWithin ? team.value_and_grad(model, kBatch, loss).grads : value_and_grad(model, loss).grads;
      if (way == kAfter) grads = team.mean(std::move(grads), kBatch, model);
      model = optimizer.step(1e-4, std::move(model), grads);
    };
    for (int round = -1; round < kRounds; ++round)
      for (int way = 0; way < kWays; ++way) {
        device.sync();
        barrier(ranks);
        const double start = now_ms();
        for (int i = 0; i < steps && (way != kAlone || ranks->rank() == 0); ++i) step(way);
        device.sync();
        if (round >= 0 && ranks->rank() == 0)
          rounds[static_cast<std::size_t>(way)].push_back((now_ms() - start) / steps);
      }
  });
  for (std::vector<double>& each : rounds) std::ranges::sort(each);
  return rounds;
}

}  // namespace

int main(int count, char** words) {
  const std::string place = count > 1 ? words[1] : "cpu";
  const int most = count > 2 ? std::atoi(words[2]) : 2, steps = count > 3 ? std::atoi(words[3]) : 20;
  if (count > 4) training::limit_buckets(std::int64_t{std::atoi(words[4])} << 20);
  const bool gpu = place != "cpu";
  const models::GptConfig config =
      gpu ? models::GptConfig{.vocabulary = 50304, .context = 1024, .width = 768, .heads = 12, .layers = 12}
          : models::GptConfig{.vocabulary = 8192, .context = 128};
  std::printf("%-8s %-12s %12s %12s %12s %16s\n", "ranks", "added up", "ms a step", "least", "most", "of linear");
  for (int ranks = 2; ranks <= most; ++ranks) {
    std::vector<Device> devices;
    for (int i = 0; i < ranks; ++i)
      devices.push_back(gpu ? Device::parse(text(place, ":", i)) : another(Device::cpu()));
    const auto rounds = times(devices, config, steps);
    const auto median = [&](int way) { return rounds[static_cast<std::size_t>(way)][kRounds / 2]; };
    for (int way = 0; way < kWays; ++way) {
      const std::vector<double>& sorted = rounds[static_cast<std::size_t>(way)];
      std::printf("%-8d %-12s %12.3f %12.3f %12.3f %15.1f%%\n", ranks, kNames[static_cast<std::size_t>(way)],
                  median(way), sorted.front(), sorted.back(), 100 * median(kAlone) / median(way));
    }
  }
}
