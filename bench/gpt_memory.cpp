// A training step of a small transformer in float32 and under Autocast, with each way of keeping less for gradients:
// milliseconds (the best of several steps, taken in turns; of one thread, of the processor's time, which a busy machine
// does not lengthen) and the most bytes in use.
//
//   bench_gpt_memory [STEPS [WORD]]    only the rows whose name begins with WORD; KILN_THREADS chooses the threads
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "bench/clock.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/kiln.hpp"
#include "kiln/ops/backend.hpp"

namespace {

using namespace kiln;

constexpr std::int64_t kWidth = 256, kLayers = 4, kHeads = 8, kTime = 128, kBatch = 8, kVocabulary = 8192;

struct Block {
  nn::LayerNorm norm1, norm2;
  nn::MultiHeadAttention attention;
  nn::Sequential<nn::Linear, nn::Gelu, nn::Linear> mlp;

  Tensor<3> forward(Tensor<3> x) const {
    x = x + attention.forward(norm1.forward(x), {.causal = true});
    return x + mlp.forward(norm2.forward(x));
  }
};

struct Gpt {
  nn::Embedding tokens, positions;
  std::vector<Block> blocks;
  nn::LayerNorm norm;
  nn::Linear head;

  Tensor<0> loss(const Tensor<2, Int>& input, const Tensor<2, Int>& targets, bool by_block) const {
    Tensor<3> x = tokens.forward(input) + positions.forward(arange(kTime, input.device()));
    for (const Block& block : blocks)
      x = by_block ? checkpoint([block](const Tensor<3>& x) { return block.forward(x); }, x) : block.forward(x);
    return nn::CrossEntropyLoss{}.forward(head.forward(norm.forward(x)).flatten<0, 1>(), targets.flatten());
  }
};

Gpt make_gpt(const Device& device) {
  Gpt gpt{.tokens = nn::EmbeddingConfig{.count = kVocabulary, .size = kWidth}.init(device),
          .positions = nn::EmbeddingConfig{.count = kTime, .size = kWidth}.init(device),
          .blocks = {},
          .norm = nn::LayerNormConfig{.size = kWidth}.init(device),
          .head = nn::LinearConfig{.in = kWidth, .out = kVocabulary, .bias = false}.init(device)};
  for (std::int64_t i = 0; i < kLayers; ++i)
    gpt.blocks.push_back(
        {.norm1 = nn::LayerNormConfig{.size = kWidth}.init(device),
         .norm2 = nn::LayerNormConfig{.size = kWidth}.init(device),
         .attention = nn::MultiHeadAttentionConfig{.width = kWidth, .heads = kHeads}.init(device),
         .mlp = nn::Sequential(nn::LinearConfig{.in = kWidth, .out = 4 * kWidth}.init(device), nn::Gelu{},
                               nn::LinearConfig{.in = 4 * kWidth, .out = kWidth}.init(device))});
  return gpt;
}

struct Row {
  std::string name;
  DType dtype;
  Checkpointing::Strategy strategy = Checkpointing::None;
  bool by_block = false;
  double ms = 1e30;
};

class Training {
 public:
  explicit Training(const Row& row) : row_(row) {}

  float step() {
    const Autocast autocast(row_.dtype);
    const Checkpointing strategy(row_.strategy);
    auto [loss, grads] = value_and_grad(model_, [&](const Gpt& m) { return m.loss(input_, targets_, row_.by_block); });
    model_ = optimizer_.step(1e-4, std::move(model_), grads);
    device_.sync();
    return loss.item();
  }

 private:
  Row row_;
  Device device_ = Device::cpu().autodiff();
  Gpt model_ = (device_.seed(1), make_gpt(device_));  // every row learns the same
  AdamW optimizer_ = AdamWConfig{}.init(model_);
  Tensor<2, Int> input_ = uniform({kBatch, kTime}, 0, static_cast<double>(kVocabulary), device_).to_int();
  Tensor<2, Int> targets_ = uniform({kBatch, kTime}, 0, static_cast<double>(kVocabulary), device_).to_int();
};

double now_ms() { return 1e3 * (num_threads() == 1 ? bench::process_seconds() : bench::wall_seconds()); }

/// The most bytes in use in two steps, and those before the first, in MiB: of a process that does nothing else.
std::pair<double, double> memory_of(const Row& row) {
  int ends[2];
  if (pipe(ends) != 0) std::exit(1);
  const pid_t child = fork();
  double most[2] = {};
  if (child == 0) {
    Training training(row);
    most[1] = static_cast<double>(Device::cpu().backend().memory().in_use) / (1 << 20);
    for (int i = 0; i < 2; ++i) training.step();
    most[0] = static_cast<double>(Device::cpu().backend().memory().peak) / (1 << 20);
    _exit(write(ends[1], most, sizeof most) == sizeof most ? 0 : 1);
  }
  if (read(ends[0], most, sizeof most) != sizeof most) std::exit(1);
  waitpid(child, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
  return {most[0], most[1]};
}

}  // namespace

int main(int count, char** words) {
  const int steps = count > 1 ? std::atoi(words[1]) : 10;
  std::vector<Row> rows;
  for (const DType dtype : {DType::F32, DType::BF16}) {
    rows.push_back({text(dtype), dtype});
    rows.push_back({text(dtype, ", balanced"), dtype, Checkpointing::Balanced});
    rows.push_back({text(dtype, ", checkpoint by block"), dtype, Checkpointing::None, true});
    rows.push_back({text(dtype, ", both"), dtype, Checkpointing::Balanced, true});
  }
  if (count > 2) std::erase_if(rows, [&](const Row& row) { return !row.name.starts_with(words[2]); });
  std::vector<std::pair<double, double>> memory;
  for (const Row& row : rows) memory.push_back(memory_of(row));  // before this process has threads

  std::vector<Training> trainings(rows.begin(), rows.end());
  std::vector<float> losses(rows.size());
  for (int i = 0; i < steps; ++i)
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const double start = now_ms();
      losses[k] = trainings[k].step();
      if (i > 0) rows[k].ms = std::min(rows[k].ms, now_ms() - start);
    }
  std::printf("%d threads; width %ld, %ld layers, %ld heads, time %ld, batch %ld, vocabulary %ld\n", num_threads(),
              kWidth, kLayers, kHeads, kTime, kBatch, kVocabulary);
  std::printf("%-34s %10s %10s %12s %10s\n", "", "ms / step", "peak MiB", "of a step", "loss");
  for (std::size_t k = 0; k < rows.size(); ++k)
    std::printf("%-34s %10.1f %10.1f %12.1f %10.4f\n", rows[k].name.c_str(), rows[k].ms, memory[k].first,
                memory[k].first - memory[k].second, static_cast<double>(losses[k]));
}
