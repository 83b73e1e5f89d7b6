// Several ranks train as one does with all of the data. Here they are threads; ranks_test.cpp has processes.
#include "tests/train/together.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <mutex>
#include <string_view>

#include "kiln/collective/thread_ranks.hpp"
#include "kiln/train/evaluator.hpp"
#include "tests/support/sentence.hpp"
#include "tests/train/fresh_directory.hpp"

namespace kiln::test {
namespace {

/// Each its own GPU, or one more of that kind.
std::vector<Device> devices(int count, const char* like = "cpu") {
  std::vector<Device> all;
  for (int i = 0; i < count; ++i)
    all.push_back((like == std::string_view("cuda") ? Device::cuda(i) : another(Device::parse(like))).autodiff());
  return all;
}

Trained train_alone(const Together& options) { return train_together(options, alone(), devices(1)[0]); }

/// What each rank ends with.
std::vector<Trained> train_on(int ranks, const Together& options, const char* like = "cpu") {
  std::vector<Trained> all(static_cast<std::size_t>(ranks));
  on_each(devices(ranks, like),
          [&](const Ranks& rank, const Device& device) {
            all[static_cast<std::size_t>(rank->rank())] = train_together(options, rank, device);
          },
          {.timeout = 60});
  return all;
}

void expect_close(const std::vector<float>& found, const std::vector<float>& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], tolerance) << i;
}

void expect_same(const std::vector<training::Evaluation>& found, const std::vector<training::Evaluation>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].split, expected[i].split);
    EXPECT_EQ(found[i].at.step, expected[i].at.step);
    EXPECT_EQ(found[i].at.items, expected[i].at.items);
    ASSERT_EQ(found[i].readings.size(), 3u);
    for (std::size_t j = 0; j < 3; ++j)
      EXPECT_NEAR(found[i].readings[j].value, expected[i].readings[j].value, 2e-5) << found[i].readings[j].name;
  }
}

class Teams : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Teams, testing::Values(2, 3, 4));

TEST_P(Teams, TrainAsOneDoesWithTheWholeBatch) {
  for (const std::int64_t accumulate : {1, 2}) {
    Together options;  // the last batch of an epoch is smaller, and the ranks' parts of it are of unequal size
    options.config.accumulate = accumulate;
    const Trained one = train_alone(options);
    const auto all = train_on(GetParam(), options);
    expect_close(all[0].weights, one.weights, 1e-5);
    expect_same(all[0].evaluations, one.evaluations);
    for (const Trained& each : all) {
      EXPECT_EQ(bits_of(each.weights), bits_of(all[0].weights));
      EXPECT_EQ(each.ending.at.step, one.ending.at.step);
      EXPECT_EQ(each.ending.at.items, one.ending.at.items);
    }
    EXPECT_TRUE(all[1].evaluations.empty());  // callbacks are rank 0's
  }
}

// Gradients go from device to device by the driver of the simulated GPU, as they do by a GPU's own library.
TEST_P(Teams, TrainOnGpusAsOneProcessorDoes) {
  Together options;
  options.config.epochs = 2;
  const Trained one = train_alone(options);
  for (const Sharding sharding : {Sharding::None, Sharding::Gradients}) {
    options.sharding = sharding;
    const auto all = train_on(GetParam(), options, "simulated");
    expect_close(all[0].weights, one.weights, 1e-5);
    expect_same(all[0].evaluations, one.evaluations);
    for (const Trained& each : all) EXPECT_EQ(bits_of(each.weights), bits_of(all[0].weights));
  }
}

TEST_P(Teams, TrainOnTheMachinesGpusAsOneProcessorDoes) {
  try {
    (void)devices(GetParam(), "cuda");
  } catch (const DeviceError& error) { GTEST_SKIP() << error.what(); }
  Together options;
  options.config.epochs = 2;
  for (const std::int64_t accumulate : {1, 2})
    for (const Sharding sharding : {Sharding::None, Sharding::State, Sharding::Gradients}) {
      options.config.accumulate = accumulate;
      options.sharding = Sharding::None;
      const Trained one = train_alone(options);
      options.sharding = sharding;
      const auto all = train_on(GetParam(), options, "cuda");
      expect_close(all[0].weights, one.weights, 1e-4);
      expect_same(all[0].evaluations, one.evaluations);
      for (const Trained& each : all) EXPECT_EQ(bits_of(each.weights), bits_of(all[0].weights));
    }
}

TEST_P(Teams, GiveTheSameBitsEachTime) {
  const Together options{.dropout = 0.3};
  EXPECT_EQ(bits_of(train_on(GetParam(), options)[0].weights), bits_of(train_on(GetParam(), options)[0].weights));
}

/// Without batch norm, of which no rank may have nothing.
struct Plain {
  nn::Linear linear;
};

TEST(Team, TakesPartWhereOthersHaveMoreBatches) {
  const Together options{.items = 37};  // of four ranks the first has a fourth batch, of one item
  const auto train_plain = [&](const Ranks& ranks, const Device& device) {
    const auto step = [&](const Plain& m, const Examples& batch) -> RegressionOutput {
      const auto count = std::int64_t(batch.y.size());
      const auto x = Tensor<2>::of(batch.x, {count, 2}, device), y = Tensor<2>::of(batch.y, {count, 1}, device);
      const auto predictions = m.linear.forward(x);
      return {(predictions - y).square().mean(), predictions, y};
    };
    device.seed(std::uint64_t(ranks->rank()));  // rank 0's weights count
    Plain model{nn::LinearConfig{.in = 2, .out = 1}.init(device)};
    Learner learner(model, SgdConfig{}.init(model), step, {.epochs = 4}, ranks);
    auto train = examples(options, ranks, true);
    const auto ending = learner.rate(0.1).fit(train);
    EXPECT_EQ(ending.at.step, 16);
    EXPECT_EQ(ending.at.items, 4 * 37);
    return learner.model().linear.weight.to_vector<float>();
  };
  const auto one = train_plain(alone(), devices(1)[0]);
  on_each(devices(4),
          [&](const Ranks& ranks, const Device& device) { expect_close(train_plain(ranks, device), one, 1e-6); });
}

TEST(Team, TakesStepsByHandWithTheGradientsOfAll) {
  const auto train_by_hand = [](const Ranks& ranks, const Device& device) {
    const Together options;
    const auto step = [&](Plain& m, Sgd& optimizer, const StepContext& context, const Examples& batch) {
      const auto count = std::int64_t(batch.y.size());
      const auto x = Tensor<2>::of(batch.x, {count, 2}, device), y = Tensor<2>::of(batch.y, {count, 1}, device);
      auto [loss, grads] = value_and_grad(m, [&](const Plain& n) { return (n.linear.forward(x) - y).square().mean(); });
      grads = context.mean(std::move(grads), count, m);
      m = optimizer.step(context.rate(), std::move(m), grads);
      return loss;
    };
    device.seed(4);
    Plain model{nn::LinearConfig{.in = 2, .out = 1}.init(device)};
    Learner learner(model, SgdConfig{}.init(model), step, {.epochs = 2}, ranks);
    auto data = examples(options, ranks, true);
    learner.rate(0.1).fit(data);
    return learner.model().linear.weight.to_vector<float>();
  };
  const auto one = train_by_hand(alone(), devices(1)[0]);
  on_each(devices(2),
          [&](const Ranks& ranks, const Device& device) { expect_close(train_by_hand(ranks, device), one, 1e-6); });
}

TEST(Team, GoesOnFromACheckpointToTheSameBits) {
  Together options{.dropout = 0.25};
  options.config = {.steps = 11, .validate_every = 3, .seed = 9};
  options.checkpoints = fresh_directory("whole");
  const auto whole = train_on(3, options);
  const auto expected = contents(options.checkpoints);
  EXPECT_TRUE(expected.contains("value.callbacks.0.best"));

  options.checkpoints = fresh_directory("parts");
  for (const std::int64_t steps : {2, 4, 6, 8}) {
    options.config.steps = steps;
    train_on(3, options);
  }
  options.config.steps = 11;
  const auto parts = train_on(3, options);
  for (std::size_t rank = 0; rank < 3; ++rank) EXPECT_EQ(bits_of(parts[rank].weights), bits_of(whole[0].weights));
  EXPECT_EQ(contents(options.checkpoints), expected);
}

TEST(Team, TrainsOnShardsOfAStream) {
  Together options{.items = 48, .stream = true};
  const Trained one = train_alone(options);
  expect_close(train_on(2, options)[0].weights, one.weights, 1e-5);
  const auto whole = train_on(3, options);
  expect_close(whole[0].weights, one.weights, 1e-5);
  expect_same(whole[0].evaluations, one.evaluations);
  EXPECT_EQ(whole[2].ending.at.items, 3 * 48);

  // From a checkpoint each rank goes on in its own shard; other ranks, whose shards are others, begin to read anew.
  options.config = {.steps = 11, .seed = 9};
  options.checkpoints = fresh_directory("streams");
  const auto through = train_on(3, options);
  const auto expected = contents(options.checkpoints);
  EXPECT_FALSE(expected.at("seen.places").empty());
  options.checkpoints = fresh_directory("stream-parts");
  for (const std::int64_t steps : {2, 5, 7}) {
    options.config.steps = steps;
    train_on(3, options);
  }
  const auto copy = fresh_directory("stream-copy");
  std::filesystem::copy(options.checkpoints, copy);
  options.config.steps = 11;
  const auto parts = train_on(3, options);
  EXPECT_EQ(bits_of(parts[1].weights), bits_of(through[0].weights));
  EXPECT_EQ(contents(options.checkpoints), expected);
  options.checkpoints = copy;
  expect_close(train_on(2, options)[0].weights, through[0].weights, 1e-5);
}

/// Trains on two ranks, whose learners `change` changes; the sentences in which they end.
std::vector<std::string> endings(const Together& options, std::function<void(int rank, Together&)> change,
                                 std::function<void(int, NetLearner&)> add = {}) {
  std::vector<std::string> said(2);
  on_each(devices(2),
          [&](const Ranks& ranks, const Device& device) {
            Together own = options;
            if (change) change(ranks->rank(), own);
            said[std::size_t(ranks->rank())] = sentence_of([&] {
              auto learner = net_learner(own, ranks, device);
              learner.rate(0.01);
              if (add) add(ranks->rank(), learner);
              auto train = examples(own, ranks, true);
              const auto ending = learner.fit(train);
              fail<DataError>(ending.reason, ", at step ", ending.at.step);
              return 0;
            });
          },
          {.timeout = 60});
  return said;
}

TEST(Team, RefusesDifferentTrainings) {
  const auto other_size = endings({}, [](int rank, Together& own) { own.hidden += rank; });
  EXPECT_EQ(
      other_size[0],
      "ConfigError: training: ranks differ in their training: rank 0 has the tensor first.weight, float32 [5, 2], "
      "and rank 1 the tensor first.weight, float32 [6, 2]");
  EXPECT_EQ(other_size[1], other_size[0]);
  const auto other_seed = endings({}, [](int rank, Together& own) { own.config.seed = std::uint64_t(rank); });
  EXPECT_EQ(other_seed[1],
            "ConfigError: training: ranks differ in their training: rank 0 has \"seed\": 0, and rank 1 \"seed\": 1");
  const auto more = endings({}, {}, [](int rank, NetLearner& learner) {
    if (rank == 1) learner.metric(metric::R2{});
  });
  EXPECT_EQ(more[0],
            "ConfigError: training: ranks differ in their training: rank 0 has no validation, and rank 1 the "
            "metric r2");
  const auto rates = endings({}, {}, [](int rank, NetLearner& learner) { learner.rate(0.1 + rank); });
  EXPECT_EQ(
      rates[0],
      "DataError: training: the weights of rank 1 are no longer those of rank 0: all ranks need the same optimizer "
      "and schedule, and processors of a kind");
  EXPECT_EQ(rates[1], rates[0]);
}

struct StopAt {
  std::int64_t step;
  void on(const training::Step& now, Interrupter& control) {
    if (now.at.step == step) control.stop("enough");
  }
};

TEST(Team, AgreesOnWhenToStop) {
  const auto by_callback = endings({}, {}, [](int, NetLearner& learner) { learner.add(StopAt{5}); });
  EXPECT_EQ(by_callback, (std::vector<std::string>(2, "DataError: enough, at step 5")));
  const auto by_rank = endings({}, {}, [&](int rank, NetLearner& learner) {
    if (rank == 1) learner.interrupter().stop("rank 1 was asked");
  });
  EXPECT_EQ(by_rank, (std::vector<std::string>(2, "DataError: rank 1 was asked, at step 0")));
  // By time: rank 0's clock alone counts.
  const auto by_time = endings({.config = {.seconds = 1e-9}}, {});
  EXPECT_EQ(by_time, (std::vector<std::string>(2, "DataError: the time of 1e-09 s is over, at step 1")));
}

TEST(Team, SavesNothingWhereARankDiscards) {
  for (const int discards : {0, 1, 2}) {  // 2: none
    const auto directory = fresh_directory("discarded");
    const auto said = endings({}, {}, [&](int rank, NetLearner& learner) {
      learner.checkpoints(directory, {.every_epochs = {}});
      if (discards == 2 ? rank == 0 : rank == discards) learner.interrupter().stop("enough", discards == 2);
    });
    EXPECT_EQ(said, (std::vector<std::string>(2, "DataError: enough, at step 0")));
    int files = 0;
    if (std::filesystem::exists(directory))
      for (const auto& entry : std::filesystem::directory_iterator(directory))
        files += entry.path().extension() == ".kiln";
    EXPECT_EQ(files > 0, discards == 2) << discards;
  }
}

TEST(Team, EndsWithARankThatFails) {
  struct FullDisk {
    void on(const training::Step& now) { require<DataError>(now.at.step < 3, "the disk is full"); }
  };
  const auto said = endings({}, {}, [&](int, NetLearner& learner) { learner.add(FullDisk{}); });
  EXPECT_EQ(said[0], "DataError: the disk is full");
  EXPECT_EQ(said[1], "IoError: training: metrics: rank 0 has left: DataError: the disk is full");
}

TEST(Team, LeavesOutAStepWhoseLossIsNoNumberOnAnyRank) {
  for (const std::int64_t accumulate : {1, 2, 3}) {
    std::vector<std::vector<float>> weights(2);
    on_each(devices(2), [&](const Ranks& ranks, const Device& device) {
      Together options;
      options.config = {.epochs = 1, .accumulate = accumulate, .not_finite = NotFinite::Skip};
      auto learner = net_learner(options, ranks, device);
      std::vector<Examples> batches = {{{1, 2, 3, 4}, {1, 2}}, {{0, 1, 1, 0}, {1, 1}}, {{2, 1, 1, 1}, {0, 3}}};
      if (ranks->rank() == 1) batches[1].y[0] = std::numeric_limits<float>::quiet_NaN();
      EXPECT_EQ(learner.rate(0.1).fit(batches).at.items, 8);
      weights[std::size_t(ranks->rank())] = weights_of(learner.model());
    });
    EXPECT_EQ(bits_of(weights[0]), bits_of(weights[1]));
    for (const float weight : weights[0]) EXPECT_TRUE(std::isfinite(weight));
  }
}

TEST(Team, MeasuresAllOfTheData) {
  const Together options;
  const auto measured = [&](const Ranks& ranks, const Device& device) {
    Evaluator evaluator(to_device(net(options), device), FitExamples{device.inner()}, ranks);
    evaluator.metric(metric::R2{});
    auto data = examples(options, ranks, false);
    return evaluator.measure("test", data);
  };
  const auto one = measured(alone(), devices(1)[0]);
  on_each(devices(3), [&](const Ranks& ranks, const Device& device) {
    const auto found = measured(ranks, device);
    EXPECT_NEAR(found.find("loss")->value, one.find("loss")->value, 1e-7);
    EXPECT_NEAR(found.find("r2")->value, one.find("r2")->value, 1e-6);
  });
}

}  // namespace
}  // namespace kiln::test
