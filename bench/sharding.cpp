// Training of a GPT by Learners on one device and on several that share the optimizer's state or not: tokens a second, the
// share of what as many devices would do each for itself, the memory of a device, and how far losses are from those of one
// device with the whole batch.
//
//   bench_sharding [DEVICE [RANKS [STEPS [ACCUMULATE]]]]
//
// cpu or cuda; the numbers of ranks, such as 2,4,8 (2); measured steps (30) and batches a step (1). On a GPU it is GPT-2 124M
// in bfloat16, with 8 x 1024 tokens a batch and device.
//
// A row has the median of rounds of five steps, the memory that rank 0 has in use between steps, and the most that it had.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bench/models/gpt.hpp"
#include "kiln/collective/thread_ranks.hpp"
#include "kiln/train/learner.hpp"

using namespace kiln;

namespace {

constexpr int kRound = 5, kBatch = 8;  // the first round is not measured

struct Options {
  bool gpu = false;
  int steps = 30;
  std::int64_t accumulate = 1;
  models::GptConfig config{.vocabulary = 8192, .context = 128};
};

/// The rows of a batch that belong to a rank. Each row follows a rule that a model can learn.
struct Rows {
  std::int64_t first = 0, count = 0;

  Tensor<2, Int> tokens(const models::GptConfig& config, std::int64_t shift, const Device& device) const {
    std::vector<std::int32_t> all;
    for (std::int64_t row = first; row < first + count; ++row) {
      std::int64_t token = (row * 7919 + 13) % 1000;
      for (std::int64_t i = 0; i < config.context + shift; ++i) {
        if (i >= shift) all.push_back(static_cast<std::int32_t>(token));
        token = (token * 5 + row % 3 + 1) % 1000;
      }
    }
    return Tensor<2, Int>::of(all, {count, config.context}, device);
  }
};

struct Measured {
  std::vector<double> losses{}, rounds{};  // seconds a step
  MemoryStatistics memory{};

  double median() const {
    std::vector<double> sorted(rounds.begin() + 1, rounds.end());
    std::ranges::sort(sorted);
    return sorted[sorted.size() / 2];
  }
};

struct Watch {
  std::shared_ptr<Measured> into;
  Device device;
  std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();

  void on(const training::Step& step) {
    into->losses.push_back(step.loss);
    if (step.at.step % kRound != 0) return;
    device.sync();
    const auto now = std::chrono::steady_clock::now();
    into->rounds.push_back(std::chrono::duration<double>(now - std::exchange(last, now)).count() / kRound);
    into->memory = device.memory();
  }
};

/// What rank 0 sees of a training in which each rank has `batch` rows of every batch.
Measured trained(const Options& options, int ranks, std::int64_t batch, Sharding sharding) {
  std::vector<Device> devices;
  for (int i = 0; i < ranks; ++i) devices.push_back(options.gpu ? Device::cuda(i) : another(Device::cpu()));
  const auto measured = std::make_shared<Measured>();
  on_each(devices, [&](const Ranks& among, const Device& device) {
    device.release_memory();
    device.seed(1);
    models::Gpt model = train(options.config.init(device.autodiff()));
    AdamW optimizer = AdamWConfig{.weight_decay = 0.01}.init(model);
    const auto step = [&options, device](const models::Gpt& gpt, const Rows& rows) {
      const auto logits = gpt.forward(rows.tokens(options.config, 0, device)).flatten<0, 1>();
      return nn::CrossEntropyLoss{}.forward(logits, rows.tokens(options.config, 1, device).flatten());
    };
    std::vector<Rows> data;
    for (std::int64_t i = 0; i < options.accumulate * (kRound + options.steps); ++i)
      data.push_back({(i * ranks + among->rank()) * batch, batch});
    Learner learner(std::move(model), std::move(optimizer), step,
                    {.epochs = 1, .accumulate = options.accumulate, .autocast = DType::BF16}, among, sharding);
    device.reset_memory_peak();
    learner.rate(1e-4).add(Watch{measured, device});
    learner.fit(data);
  });
  require<DataError>(measured->rounds.size() > 1, "bench_sharding: the training was ended before a round was measured");
  return *measured;
}

void print_row(const Options& options, int ranks, const char* name, const Measured& row, double alone,
               const std::optional<Measured>& whole) {
  const double tokens = static_cast<double>(kBatch * options.accumulate * options.config.context);
  const double mib = 1 << 20;
  std::printf("%-6d %-10s %14.0f %9.1f%% %12.1f %12.1f %10.5f", ranks, name, ranks * tokens / row.median(),
              100 * alone / row.median(), static_cast<double>(row.memory.in_use) / mib,
              static_cast<double>(row.memory.peak) / mib, row.losses.back());
  if (whole) {
    double most = 0;
    for (std::size_t i = 0; i < row.losses.size(); ++i)
      most = std::max(most, std::abs(row.losses[i] - whole->losses[i]));
    std::printf(" %12.6f", most);
  }
  std::printf("\n");
  std::fflush(stdout);
}

std::vector<int> numbers_in(const std::string& list) {
  std::vector<int> all;
  std::istringstream in(list);
  for (std::string word; std::getline(in, word, ',');) all.push_back(std::atoi(word.c_str()));
  return all;
}

/// One device with the batches of several, if they fit into its memory.
std::optional<Measured> trained_whole(const Options& options, int ranks) {
  try {
    return trained(options, 1, kBatch * ranks, Sharding::None);
  } catch (const MemoryError& error) {
    std::printf("one device with the batches of %d: %s\n", ranks, error.what());
    return std::nullopt;
  }
}

}  // namespace

int main(int count, char** words) {
  Options options{.gpu = count > 1 && std::string(words[1]) != "cpu"};
  if (count > 3) options.steps = std::max(kRound, std::atoi(words[3]) / kRound * kRound);
  if (count > 4) options.accumulate = std::atoi(words[4]);
  if (options.gpu) options.config = {.vocabulary = 50304, .context = 1024, .width = 768, .heads = 12, .layers = 12};
  std::printf("%-6s %-10s %14s %10s %12s %12s %10s %12s\n", "ranks", "sharding", "tokens/s", "of linear", "MiB in use",
              "MiB at most", "last loss", "off by");
  const double alone = [&] {
    const Measured one = trained(options, 1, kBatch, Sharding::None);
    print_row(options, 1, "none", one, one.median(), std::nullopt);
    return one.median();
  }();
  for (const int ranks : numbers_in(count > 2 ? words[2] : "2")) {
    const std::optional<Measured> whole = trained_whole(options, ranks);
    for (const auto& [sharding, name] : {std::pair(Sharding::None, "none"), std::pair(Sharding::State, "state"),
                                         std::pair(Sharding::Gradients, "gradients")})
      print_row(options, ranks, name, trained(options, ranks, kBatch, sharding), alone, whole);
  }
}
