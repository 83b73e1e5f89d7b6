// What the tests of processes start several of: each case is a word on the command line, and says what it found.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <unistd.h>

#include "kiln/collective/launched_ranks.hpp"
#include "kiln/collective/thread_ranks.hpp"
#include "kiln/tensor/collective.hpp"
#include "tests/train/together.hpp"

namespace kiln::test {
namespace {

struct AtStep {
  std::int64_t step;
  void (*act)();
  RegressionOutput operator()(const Net& net, const Examples& batch) const {
    if (seen++ == step) act();
    return fit(net, batch);
  }
  FitExamples fit;
  mutable std::int64_t seen = 0;
};

/// A training of which rank 1 does something in its fourth step.
training::RunEnd train_and(const Ranks& ranks, const Device& device, void (*act)(), Sharding sharding = {}) {
  const Together options;
  Net model = train(nn::sync_batch_norm(to_device(net(options), device), ranks));
  Learner learner(model, SgdConfig{}.init(model), AtStep{ranks->rank() == 1 ? 3 : 1000000, act, {device.inner()}, 0},
                  {.epochs = 100}, ranks, sharding);
  auto data = examples(options, ranks, true);
  return learner.fit(data);
}

void say(const std::string& text) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

Sharding sharding_of(const std::string& word) {
  return word == "state" ? Sharding::State : word == "gradients" ? Sharding::Gradients : Sharding::None;
}

int run(const std::string& what, const std::string& argument, const std::string& sharding) {
  const Ranks ranks = launched_ranks({.timeout = what == "late" ? 1.0 : 60.0});
  const int rank = ranks->rank(), size = ranks->size();
  const char* const kind = std::getenv("KILN_TEST_RANKS_ON");  // "cuda": each rank has its own GPU
  const Device device = (kind ? Device::parse(text(kind, ':', rank)) : Device::cpu()).autodiff();
  const auto own = [&](const std::string& text) { say(kiln::text("rank ", rank, ": ", text)); };
  if (what == "collectives") {
    std::vector<float> mine;
    for (int i = 0; i < 300000; ++i) mine.push_back(static_cast<float>((i % 1000) * (rank + 1)));
    const auto sums = all_reduce(Tensor<1>::of(mine, device), ranks).to_vector<float>();
    double wrong = 0;
    const int all = size * (size + 1) / 2;
    for (int i = 0; i < 300000; ++i) wrong += sums[std::size_t(i)] != float((i % 1000) * all);
    const auto x = Tensor<1>::of({float(rank), 1}, device);
    const auto row = [](const Tensor<1>& tensor) {
      std::string numbers;
      for (const float number : tensor.to_vector<float>()) numbers += text(' ', number);
      return numbers;
    };
    own(text("of ", size, ", ", wrong, " wrong, gathered", row(all_gather(x, ranks)), ", of the last",
             row(broadcast(x, ranks, size - 1)), ", scattered",
             row(reduce_scatter(all_gather(x, ranks), ranks, Combine::Max))));
    barrier(ranks);
  } else if (what == "train") {
    Together options{.dropout = 0};
    if (argument != "-") options.checkpoints = argument;
    options.sharding = sharding_of(sharding);
    const Trained trained = train_together(options, ranks, device);
    own(text("step ", trained.ending.at.step, ", weights ", bits_of(trained.weights)));
  } else if (what == "differ") {
    (void)all_reduce(zeros({rank + 1}, device), ranks).data();
  } else if (what == "throw") {
    if (rank == 1) fail<DataError>("the disk of rank 1 is gone");
    barrier(ranks);
  } else if (what == "end") {
    if (rank != 1) barrier(ranks);
  } else if (what == "late") {
    if (rank == 1) std::this_thread::sleep_for(std::chrono::seconds(3));
    barrier(ranks);
  } else if (what == "kill") {
    if (argument == "busy" && rank != 1) std::this_thread::sleep_for(std::chrono::seconds(30));
    if (argument == "busy") ::kill(::getpid(), SIGKILL);
    train_and(ranks, device, [] { ::kill(::getpid(), SIGKILL); }, sharding_of(argument));
  } else if (what == "exit") {
    train_and(ranks, device, [] { ::_exit(0); });
  } else if (what == "stop") {
    const auto ending = train_and(ranks, device, [] { std::raise(SIGINT); });
    own(text(ending.reason, " at step ", ending.at.step));
  }
  return 0;
}

}  // namespace
}  // namespace kiln::test

int main(int, char** arguments) {
  try {
    const char* const second = arguments[2];
    return kiln::test::run(arguments[1], second ? second : "", second && arguments[3] ? arguments[3] : "");
  } catch (const std::exception& error) {
    std::printf("said: %s\n", error.what());
    return 1;
  }
}
