// Ranks that share an optimizer's state train to the bits of ranks that each have all of it.
#include "kiln/train/ranks/shards.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kiln/collective/thread_ranks.hpp"
#include "kiln/data/image.hpp"
#include "kiln/ops/collective/collective.hpp"
#include "kiln/ops/scope/no_grad.hpp"
#include "kiln/optim/lbfgs.hpp"
#include "kiln/optim/rules/all.hpp"
#include "kiln/train/ranks/buckets.hpp"
#include "tests/support/sentence.hpp"
#include "tests/train/fresh_directory.hpp"
#include "tests/train/together.hpp"

namespace kiln::test {
namespace {

using training::Layout;

struct Layers {
  nn::Linear first, second;
  Tensor<2> forward(const Tensor<2>& x) const { return second.forward(first.forward(x).tanh()); }
};

Layers layers(const Device& device, std::int64_t width, DType dtype = DType::F32) {
  device.seed(3);
  Layers made{nn::LinearConfig{.in = 2, .out = width}.init(device),
              nn::LinearConfig{.in = width, .out = 1}.init(device)};
  visit_params(made, [&](const std::string&, nn::AnyLeaf& param) { param.set(cast(param.value().detach(), dtype)); });
  return made;
}

struct Case {
  AnyRule rule = AdamWConfig{};
  OptimizerOptions options{};
  Sharding sharding = Sharding::None;
  LearnerConfig config{.steps = 7, .seed = 3};
  DType dtype = DType::F32;
  std::filesystem::path checkpoints{};
  std::shared_ptr<std::atomic<int>> drawn{};  // if set, there are pictures, and this counts them on all ranks
};

/// What one rank ends with.
struct Result {
  std::vector<double> losses{};  // of rank 0
  std::vector<float> weights{};  // for inference
  std::int64_t state = 0;        // elements
};

struct Losses {
  std::shared_ptr<std::vector<double>> all;
  void on(const training::Step& step) { all->push_back(step.loss); }
};

Result trained(const Case& given, const Ranks& ranks, const Device& device) {
  const auto fit = [device](const Layers& m, const Examples& batch) {
    const auto count = static_cast<std::int64_t>(batch.y.size());
    const auto x = Tensor<2>::of(batch.x, {count, 2}, device.inner());
    const auto y = Tensor<2>::of(batch.y, {count, 1}, device.inner());
    return (m.forward(x) - y).square().mean();
  };
  Layers model = layers(device, 9, given.dtype);
  AnyOptimizer optimizer(given.rule, model, given.options);
  Learner learner(std::move(model), std::move(optimizer), fit, given.config, ranks, given.sharding);
  const Losses losses{std::make_shared<std::vector<double>>()};
  learner.rate(0.02).add(losses);
  if (!given.checkpoints.empty()) learner.checkpoints(given.checkpoints);
  if (given.drawn) {
    EXPECT_EQ(
        sentence_of([&] { learner.histograms({.weights = false}); }),
        "ArgumentError: histograms: ranks that share the optimizer's state have parts of the gradients only: make "
        "histograms of weights");
    learner.pictures("picture", [drawn = given.drawn](const Layers&) {
      ++*drawn;
      return Image{{0, 1}, 1, 2, 0};
    });
  }
  Together options{.items = 44};
  auto data = examples(options, ranks, true);
  learner.fit(data);
  if (given.drawn) {
    EXPECT_EQ(sentence_of([&] { learner.fast_dev_run(data); }),
              "ArgumentError: fast_dev_run: ranks share the optimizer's state since fit(), and this one has a part of "
              "it: call fast_dev_run() before fit()");
  }
  Result result{.losses = *losses.all};
  visit_params(learner.result(), [&](const std::string&, const nn::AnyLeaf& param) {
    const auto numbers = cast(param.value(), DType::F32).data().to_vector<float>();
    result.weights.insert(result.weights.end(), numbers.begin(), numbers.end());
  });
  for (const auto& [path, state] : learner.optimizer().states()) {
    for (const Value& slot : state.slots) result.state += slot.empty() ? 0 : slot.numel();
    if (state.master) result.state += state.master.numel();
  }
  return result;
}

std::vector<Result> train_on(const std::vector<Device>& devices, const Case& given) {
  std::vector<Result> all(devices.size());
  on_each(devices,
          [&](const Ranks& rank, const Device& device) {
            all[static_cast<std::size_t>(rank->rank())] = trained(given, rank, device);
          },
          {.timeout = 60});
  return all;
}

/// Expects that ranks with these parts train as ranks with the whole state, to the bit or within a tolerance.
void expect_as_whole(int ranks, Case given, double tolerance = 0) {
  given.sharding = Sharding::None;
  const Result whole = train_on(processors(ranks), given)[0];
  for (const Sharding sharding : {Sharding::State, Sharding::Gradients}) {
    given.sharding = sharding;
    std::int64_t state = 0;
    const bool exact = tolerance == 0 && (sharding == Sharding::State || given.config.accumulate == 1);
    const auto all = train_on(processors(ranks), given);
    for (const Result& each : all) {
      EXPECT_EQ(bits_of(each.weights), bits_of(all[0].weights));
      state += each.state;
    }
    EXPECT_EQ(state, whole.state);
    ASSERT_EQ(all[0].losses.size(), whole.losses.size());
    if (exact) {
      EXPECT_EQ(bits_of(all[0].weights), bits_of(whole.weights));
      EXPECT_EQ(all[0].losses, whole.losses);
    }
    const double most = tolerance == 0 ? 1e-5 : tolerance;
    for (std::size_t i = 0; i < whole.losses.size(); ++i) EXPECT_NEAR(all[0].losses[i], whole.losses[i], most);
    for (std::size_t i = 0; i < whole.weights.size(); ++i) EXPECT_NEAR(all[0].weights[i], whole.weights[i], most);
  }
}

class Sharded : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Sharded, testing::Values(2, 3, 4));

TEST_P(Sharded, TrainToTheBitsOfTheWholeState) {
  for (const std::int64_t bytes : {1, 60, 0})
    for (const std::int64_t accumulate : {1, 2}) {
      const Limit limit(bytes);
      SCOPED_TRACE(text("buckets of ", bytes, ", ", accumulate, " batches a step"));
      expect_as_whole(GetParam(), {.config = {.steps = 7, .accumulate = accumulate, .seed = 3}});
    }
}

TEST(Sharding, TakesEveryRule) {
  const auto check = [](const auto& rule) {
    using Rule = std::remove_cvref_t<decltype(rule)>;
    SCOPED_TRACE(Rule::kName);
    Case given{.rule = rule};
    if constexpr (std::is_same_v<Rule, MuonConfig>)
      given.options.groups = {{.params = Selector::rank(0, 1), .rule = LionConfig{}, .rate = 0.1}};
    expect_as_whole(3, given);
  };
  [&]<class... R>(const std::variant<R...>*) { (check(R{}), ...); }(static_cast<const RuleConfig*>(nullptr));
  check(AdamWConfig{.cautious = true});
  check(RmsPropConfig{.momentum = 0.9, .centered = true});
  check(SgdConfig{.momentum = 0.9, .nesterov = true});
}

TEST(Sharding, TakesGroupsHalvesAndClipping) {
  expect_as_whole(2,
                  {.rule = LambConfig{},
                   .options = {.groups = {{.params = Selector::regex("first.*"), .rule = AdamConfig{}, .rate = 2}}}});
  expect_as_whole(3, {.dtype = DType::BF16});
  expect_as_whole(3, {.rule = LambConfig{}, .dtype = DType::BF16});
  expect_as_whole(3, {.options = {.clip = {.value = 0.01}}});
  expect_as_whole(3, {.options = {.clip = {.norm = 0.1}}});
  expect_as_whole(3, {.options = {.clip = {.adaptive = 0.01}}});
  // The squares of the gradients are added up in another order.
  expect_as_whole(3, {.rule = SgdConfig{.momentum = 0.9}, .options = {.clip = {.global_norm = 0.05}}}, 1e-6);
  expect_as_whole(3, {.options = {.clip = {.norm = 0.1, .global_norm = 0.1}}, .dtype = DType::F64}, 1e-9);
}

TEST(Sharding, ScalesLossesAndSkipsOverflowsOnAllRanks) {
  // The first scales overflow float16, and the step is skipped, until they are small enough.
  Case given{.config = {.steps = 12, .autocast = DType::F16, .scaler = GradientScalerConfig{.exponent = 24}}};
  expect_as_whole(3, given);
}

TEST(Sharding, LeavesOutABatchWhoseLossIsNoNumberOnAnyRank) {
  for (const Sharding sharding : {Sharding::State, Sharding::Gradients})
    for (const std::int64_t accumulate : {1, 2, 3}) {
      std::vector<std::vector<float>> weights(2), whole(2);
      for (auto* const into : {&weights, &whole})
        on_each(processors(2), [&](const Ranks& ranks, const Device& device) {
          Together options{.sharding = into == &whole ? Sharding::None : sharding};
          options.config = {.epochs = 1, .accumulate = accumulate, .not_finite = NotFinite::Skip};
          auto learner = net_learner(options, ranks, device);
          std::vector<Examples> batches = {{{1, 2, 3, 4}, {1, 2}}, {{0, 1, 1, 0}, {1, 1}}, {{2, 1, 1, 1}, {0, 3}}};
          if (ranks->rank() == 1) batches[1].y[0] = std::numeric_limits<float>::quiet_NaN();
          EXPECT_EQ(learner.rate(0.1).fit(batches).at.items, 8);
          (*into)[std::size_t(ranks->rank())] = weights_of(learner.model());
        });
      EXPECT_EQ(bits_of(weights[0]), bits_of(weights[1]));
      for (std::size_t i = 0; i < weights[0].size(); ++i) EXPECT_NEAR(weights[0][i], whole[0][i], 1e-5);
    }
}

TEST(Sharding, WritesTheCheckpointsOfTheWholeState) {
  Together options;
  options.config = {.steps = 11, .validate_every = 3, .seed = 9};
  options.checkpoints = fresh_directory("whole_state");
  const auto run = [&](int ranks) {
    std::vector<Trained> all(static_cast<std::size_t>(ranks));
    on_each(processors(ranks), [&](const Ranks& rank, const Device& device) {
      all[static_cast<std::size_t>(rank->rank())] = train_together(options, rank, device);
    });
    return all;
  };
  const auto whole = run(3);
  const auto expected = contents(options.checkpoints);
  for (const Sharding sharding : {Sharding::State, Sharding::Gradients}) {
    // In one go, and interrupted; also by a run whose ranks have the whole state.
    options.sharding = sharding;
    options.checkpoints = fresh_directory("parts_in_one_go");
    run(3);
    EXPECT_EQ(contents(options.checkpoints), expected);
    options.checkpoints = fresh_directory("parts_of_state");
    for (const std::int64_t steps : {2, 4, 6, 8, 11}) {
      options.config.steps = steps;
      options.sharding = steps == 6 ? Sharding::None : sharding;
      const auto parts = run(3);
      if (steps == 11) { EXPECT_EQ(bits_of(parts[2].weights), bits_of(whole[0].weights)); }
    }
    EXPECT_EQ(contents(options.checkpoints), expected);
  }
}

/// Trains on these numbers of ranks, one after the other and each from the last one's checkpoint, and expects the losses
/// of a single rank.
void expect_to_go_on(Case given, const std::vector<int>& numbers, FunctionRef<std::vector<Device>(int)> devices) {
  given.config.steps = 3 * std::ssize(numbers);
  const std::vector<double> expected = train_on(devices(1), given)[0].losses;
  for (const Sharding sharding : {Sharding::State, Sharding::Gradients}) {
    given.checkpoints = fresh_directory("other_ranks");
    given.sharding = sharding;
    std::vector<double> losses;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      given.config.steps = 3 * static_cast<std::int64_t>(i + 1);
      const auto some = train_on(devices(numbers[i]), given)[0].losses;
      losses.insert(losses.end(), some.begin(), some.end());
    }
    ASSERT_EQ(losses.size(), expected.size());
    for (std::size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], expected[i], 1e-5) << i;
  }
}

TEST(Sharding, GoesOnWithAnotherNumberOfRanks) {
  for (const AnyRule& rule : {AnyRule(AdamWConfig{}), AnyRule(LambConfig{})})
    expect_to_go_on({.rule = rule}, {4, 2, 1, 4}, [](int count) { return processors(count); });
}

TEST(Sharding, GoesOnWithAnotherNumberOfTheMachinesGpus) {
  const auto gpus = [](int count) {
    std::vector<Device> all;
    for (int i = 0; i < count; ++i) all.push_back(Device::cuda(i).autodiff());
    return all;
  };
  int most = 0;
  for (const int count : {2, 4}) try {
      (void)gpus(count);
      most = count;
    } catch (const DeviceError& error) {
      if (most == 0) GTEST_SKIP() << error.what();
    }
  for (const AnyRule& rule : {AnyRule(AdamWConfig{}), AnyRule(LambConfig{})})
    expect_to_go_on({.rule = rule}, {most, most / 2, 1, most}, gpus);
}

std::int64_t elements_of(const OptimizerState& optimizer) {
  std::int64_t all = 0;
  for (const auto& [path, state] : optimizer.states())
    for (const Value& slot : state.slots) all += slot.numel();
  return all;
}

TEST(Sharding, GivesEachRankItsShareOfTheState) {
  std::vector<std::int64_t> adams(4), lambs(4);
  const std::int64_t whole = 2 * (4 * 4096 + 1);  // two numbers for each of the parameters' elements
  on_each(processors(4), [&](const Ranks& ranks, const Device& device) {
    const Layers model = layers(device, 4096);
    AnyOptimizer adam(AdamConfig{}, model), lamb(LambConfig{}, model);
    EXPECT_EQ(elements_of(adam.untyped()), whole);
    const training::Shards of_adam(ranks, adam.untyped(), model), of_lamb(ranks, lamb.untyped(), model);
    adams[std::size_t(ranks->rank())] = elements_of(adam.untyped());
    lambs[std::size_t(ranks->rank())] = elements_of(lamb.untyped());
  });
  std::int64_t all = 0;
  for (const std::int64_t each : adams) {
    EXPECT_LE(each, whole / 4 + 2 * 64);  // parameters begin at multiples of 64 elements
    all += each;
  }
  EXPECT_EQ(all, whole);
  // Lamb's parameters are whole: [4096, 2], [4096], [1, 4096], [1].
  std::ranges::sort(lambs, std::greater());
  EXPECT_EQ(lambs, (std::vector<std::int64_t>{2 * 8192, 2 * 4096, 2 * 4096, 2}));
}

TEST(Sharding, LaysEachElementOutOnce) {
  const Layers model = layers(processors(1)[0], 77);
  for (const bool whole : {false, true})
    for (const std::int64_t bytes : {1, 300, 0})
      for (const int ranks : {2, 3, 7}) {
        const Limit limit(bytes);
        const Layout layout = Layout::sharded(model, ranks, [&](const std::string&) { return whole; });
        std::map<std::string, std::int64_t> ends;  // parts follow each other in the order of the ranks
        for (int rank = 0; rank < ranks; ++rank)
          for (const auto& [path, part] : layout.parts(rank)) {
            EXPECT_EQ(part.begin, ends[path]);
            ends[path] += part.count;
            if (whole) { EXPECT_EQ(part.begin, 0); }
          }
        std::int64_t all = 0;
        visit_params(model, [&](const std::string& path, const nn::AnyLeaf& param) {
          EXPECT_EQ(ends[path], param.numel()) << path;
          all += param.numel();
        });
        EXPECT_EQ(all, 77 * 4 + 1);
      }
}

/// Bytes in use by all ranks when the second of two batches of a step begins.
template <class Config = AdamConfig>
std::int64_t bytes_within_a_step(Sharding sharding, std::int64_t width) {
  std::int64_t bytes = 0;
  on_each(processors(4), [&](const Ranks& ranks, const Device& device) {
    std::int64_t batches = 0;
    const auto step = [&](const Layers& m, const Examples& batch) {
      device.sync();
      barrier(ranks);
      if (++batches == 4 && ranks->rank() == 0) bytes = device.memory().in_use;
      barrier(ranks);
      const auto count = static_cast<std::int64_t>(batch.y.size());
      return m.forward(Tensor<2>::of(batch.x, {count, 2}, device.inner())).square().mean();
    };
    Layers model = layers(device, width);
    auto optimizer = Config{}.init(model);
    Learner learner(std::move(model), std::move(optimizer), step, {.steps = 2, .accumulate = 2}, ranks, sharding);
    auto data = examples({.items = 48}, ranks, true);
    learner.rate(0.01).fit(data);
  });
  return bytes;
}

TEST(Sharding, TakesLessMemory) {
  constexpr std::int64_t kWidth = 1 << 18, kBytes = 4 * 4 * kWidth;  // of all parameters
  const std::int64_t whole = bytes_within_a_step(Sharding::None, kWidth),
                     state = bytes_within_a_step(Sharding::State, kWidth),
                     gradients = bytes_within_a_step(Sharding::Gradients, kWidth);
  // Four ranks have the parameters, two moments and the gradients of the first batch: 4 (1 + 2 + 1).
  EXPECT_NEAR(static_cast<double>(whole) / kBytes, 16, 0.5);
  EXPECT_NEAR(static_cast<double>(state) / kBytes, 4 + 2 + 4, 0.5);
  EXPECT_NEAR(static_cast<double>(gradients) / kBytes, 4 + 2 + 1, 0.5);
  // A rule of whole parameters needs no more, though ranks have unlike shares of a bucket.
  EXPECT_NEAR(static_cast<double>(bytes_within_a_step<LambConfig>(Sharding::State, kWidth)) / kBytes, 4 + 2 + 4, 0.5);
}

// The fake libraries of GPUs (tests/backend/cuda) are a driver whose kernels do nothing, and NCCL.
TEST(Sharding, MeetsByNccl) {
  void* const library = ::dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  const auto calls = library ? reinterpret_cast<int (*)()>(::dlsym(library, "kiln_fake_nccl_calls")) : nullptr;
  if (!calls) GTEST_SKIP() << "there is no NCCL that counts";
  const Limit limit(1);
  const int before = calls();
  on_each({Device::cuda(0).autodiff(), Device::cuda(1).autodiff()}, [](const Ranks& ranks, const Device& device) {
    Layers model = layers(device, 8);
    AnyOptimizer adam(AdamConfig{}, model);
    training::Shards shards(ranks, adam.untyped(), model);
    training::Buckets buckets(ranks, Combine::Mean, shards.layout());
    visit_params(model, [&](const std::string& path, const nn::AnyLeaf& param) {
      buckets.add(path, zeros_like(param.value().detach()));
    });
    shards.step({0.1}, model, buckets.finish());
    device.sync();
  });
  EXPECT_EQ(calls() - before, 2 * 4);  // each of four parameters is reduced, and gathered
}

/// An optimizer that is none of Kiln's.
struct Own {
  double rate = 0;
  Layers step(double, Layers m, const GradientsParams&) { return m; }
  Layers step(const Rates&, Layers m, const GradientsParams&) { return m; }
  template <class V>
  void visit_state(V&&) const {}
};

TEST(Sharding, RefusesWhatHasNoParts) {
  const Device device = processors(1)[0];
  const Ranks ranks = alone();
  Layers model = layers(device, 4);
  const auto by_hand = [](Layers&, Adam&, const StepContext&, const Examples&) { return Tensor<0>(); };
  const auto step = [](const Layers&, const Examples&) { return Tensor<0>(); };
  EXPECT_EQ(
      sentence_of([&] {
        return Learner(model, AdamConfig{}.init(model), by_hand, {.steps = 1}, ranks, Sharding::State).position();
      }),
      "ArgumentError: training: ranks can share the state of an optimizer only where the Learner takes its steps, "
      "and this step is by hand");
  EXPECT_EQ(sentence_of([&] { return Learner(model, Own{}, step, {.steps = 1}, ranks, Sharding::State).position(); }),
            "ArgumentError: training: ranks can share the state of an Optimizer, and this one is of another type");
  std::vector<std::string> said(2);
  on_each(processors(2), [&](const Ranks& rank, const Device& own) {
    said[std::size_t(rank->rank())] = sentence_of([&] {
      Case given{.sharding = rank->rank() ? Sharding::State : Sharding::None};
      return trained(given, rank, own).state;
    });
  });
  EXPECT_EQ(
      said[1],
      "ConfigError: training: ranks differ in their training: rank 0 has the sharding None, and rank 1 the sharding "
      "State");
  EXPECT_EQ(said[0], said[1]);
}

TEST(Sharding, DrawsTheAverageThatAllRanksHavePartsOf) {
  const Case given{.rule = ScheduleFreeAdamWConfig{},
                   .sharding = Sharding::State,
                   .config = {.epochs = 2, .seed = 3},
                   .drawn = std::make_shared<std::atomic<int>>()};
  const auto all = train_on(processors(2), given);
  EXPECT_EQ(bits_of(all[1].weights), bits_of(all[0].weights));
  EXPECT_EQ(*given.drawn, 2);  // the first rank draws after each epoch
}

TEST(Sharding, TrainsTwice) {
  std::vector<std::vector<float>> weights(2);
  on_each(processors(2), [&](const Ranks& ranks, const Device& device) {
    for (const Sharding sharding : {Sharding::None, Sharding::State}) {
      Together options{.sharding = sharding};
      auto learner = net_learner(options, ranks, device);
      auto data = examples(options, ranks, true);
      learner.rate(0.05).fit(data);
      learner.fit(data);
      if (ranks->rank() == 1) weights[sharding == Sharding::None ? 0 : 1] = weights_of(learner.model());
    }
  });
  EXPECT_EQ(bits_of(weights[0]), bits_of(weights[1]));
}

}  // namespace
}  // namespace kiln::test
