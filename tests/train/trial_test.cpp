// Short trainings of copies: the finders, overfit(), fast_dev_run(), predict(). Expected values are computed by loops
// over doubles, or by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <span>

#include "kiln/data/stream/sources.hpp"
#include "kiln/data/stream/steps.hpp"
#include "kiln/data/stream/stream_loader.hpp"
#include "kiln/optim/rules/sgd.hpp"
#include "kiln/train/batch_size.hpp"
#include "kiln/train/trial.hpp"
#include "tests/support/said_by.hpp"
#include "tests/train/heard.hpp"
#include "tests/train/line.hpp"

namespace kiln {
namespace {

/// w, with the loss w^2: a step of rate r makes w (1 - 2 r) of it.
struct Bowl {
  nn::Param<1> w;
};
struct BowlBatch {
  std::int64_t size = 1;
};
Tensor<0> bowl_loss(const Bowl& bowl, BowlBatch) { return bowl.w.square().sum(); }
Bowl bowl(float w) { return {nn::Param<1>(Tensor<1>::of({w}, Device::cpu().autodiff()))}; }

TEST(RateFinder, TakesTheStepsOfALoopByHand) {
  const RateFinderConfig config{.least = 1e-4, .greatest = 10, .steps = 60, .smoothing = 0.5, .diverges = 3};
  const std::vector<BowlBatch> data(7);
  const Bowl model = bowl(2);
  const FoundRate found = find_rate(model, SgdConfig{}.init(model), bowl_loss, data, config);
  double w = 2, average = 0, weight = 0, best = 1e300;
  std::vector<double> rates, smoothed;
  for (int i = 0; i < 60; ++i) {
    rates.push_back(1e-4 * std::exp(i / 59.0 * std::log(1e5)));
    const double loss = w * w;
    average = 0.5 * average + 0.5 * loss;
    weight = 0.5 * weight + 0.5;
    smoothed.push_back(average / weight);
    best = std::min(best, smoothed.back());
    w -= rates.back() * 2 * w;
    if (smoothed.back() > 3 * best) break;
  }
  ASSERT_EQ(found.losses.size(), rates.size());
  ASSERT_LT(rates.size(), 60u) << "it diverges";
  std::size_t steepest = 0;
  double slope = 0;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    EXPECT_NEAR(found.rates[i], rates[i], 1e-9 * rates[i]);
    EXPECT_NEAR(found.smoothed[i], smoothed[i], 1e-4 * smoothed[i] + 1e-6) << i;
    if (i < rates.size() / 10 || i < 1 || i + 1 == rates.size()) continue;
    const double now = smoothed[i + 1] - smoothed[i - 1];  // the distances of the logarithms are all the same
    if (now < slope) slope = now, steepest = i;
  }
  ASSERT_TRUE(found.rate);
  EXPECT_NEAR(*found.rate, rates[steepest], 1e-9);
  EXPECT_GT(*found.rate, 1e-2);
  EXPECT_LT(*found.rate, 1);  // beyond it the loss grows
  EXPECT_EQ(model.w.to_vector<float>()[0], 2);
}

TEST(RateFinder, SuggestsNothingWhereTheLossNeverFalls) {
  const std::vector<double> rates = {1, 2, 4, 8, 16};
  EXPECT_FALSE(training::steepest(rates, {1, 2, 3, 4, 5}));
  EXPECT_FALSE(training::steepest(rates, {1, 1, 1, 1, 1}));
  EXPECT_EQ(training::steepest(rates, {5, 4, 2, 1, 3}), 2);
}

TEST(RateFinder, EndsAtALossThatIsNotFinite) {
  const std::vector<BowlBatch> data(1);
  const auto step = [](const Bowl& b, BowlBatch) { return b.w.log().sum(); };  // w falls below 0
  const Bowl model = bowl(1);
  const FoundRate found = find_rate(model, SgdConfig{}.init(model), step, data, {.greatest = 100, .steps = 50});
  EXPECT_FALSE(std::isfinite(found.losses.back()));
  EXPECT_EQ(found.smoothed.size() + 1, found.losses.size());
  EXPECT_LT(found.losses.size(), 50u);
}

TEST(RateFinder, SaysWhyItSuggestsNothing) {
  const auto says = [](const FoundRate& found) { return said_by([&] { found.suggested(); }); };
  FoundRate known;
  known.rate = 0.25;
  EXPECT_EQ(known.suggested(), 0.25);
  const std::vector<BowlBatch> data(1);
  const Bowl model = bowl(1);
  const auto find = [&](auto step) { return find_rate(model, SgdConfig{}.init(model), step, data, {.steps = 3}); };
  EXPECT_EQ(
      says(find([](const Bowl& b, BowlBatch) { return (b.w * 0 - 1).log().sum(); })),
      "find_rate: no rate can be suggested, as the loss of step 1, at a rate of 1e-07, is nan: look at the model's "
      "output and the batch, or begin with a smaller RateFinderConfig::least");
  EXPECT_EQ(
      says(find([](const Bowl& b, BowlBatch) { return (b.w * 0).sum(); })),
      "find_rate: no rate can be suggested, as the loss never fell in 3 steps from a rate of 1e-07 to 1: shuffle the "
      "data, take more steps or a wider range of rates, or see by overfit() whether the model learns at all");
  EXPECT_EQ(says({}), "find_rate: no step was taken, so that no rate can be suggested");
}

TEST(RateFinder, RefusesWhatItCannotUse) {
  const auto says = [](const RateFinderConfig& config) { return said_by([&] { config.check(); }); };
  EXPECT_EQ(says({.least = 0}), "rate finder: least = 0 must be positive and below greatest = 1");
  EXPECT_EQ(says({.steps = 2}), "rate finder: steps is 2, it must be at least 3");
  EXPECT_EQ(says({.smoothing = 1}), "rate finder: smoothing is 1, it must be at least 0 and below 1");
  EXPECT_EQ(says({.diverges = 1}), "rate finder: diverges is 1, it must be above 1");
}

TEST(Overfit, LearnsTheFirstBatchAlone) {
  auto data = loader(32, {.batch_size = 4, .shuffle = true, .seed = 3});
  const auto batches = first_batches(data, 1);
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_EQ(data.epoch(), 0);
  const Line model = line();
  const auto before = weights(model);
  const auto result = overfit(model, AdamConfig{}.init(model), fit_points, data, {.steps = 300, .rate = 0.05});
  ASSERT_EQ(result.losses.size(), 300u);
  // The least squares of these four points, in closed form.
  double x = 0, y = 0, xx = 0, xy = 0, least = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const double px = batches[0].x[i], py = batches[0].y[i];
    x += px / 4, y += py / 4, xx += px * px / 4, xy += px * py / 4;
  }
  const double slope = (xy - x * y) / (xx - x * x), offset = y - slope * x;
  for (std::size_t i = 0; i < 4; ++i) least += std::pow(slope * batches[0].x[i] + offset - batches[0].y[i], 2) / 4;
  EXPECT_NEAR(result.losses.back(), least, 1e-4);
  EXPECT_NEAR(weights(result.model)[0], slope, 1e-2);
  EXPECT_EQ(weights(model), before);
  EXPECT_EQ(said_by([&] { (void)first_batches(data, 0); }), "first batches: 0 batches; there must be at least one");
  EXPECT_EQ(said_by([&] { overfit(model, AdamConfig{}.init(model), fit_points, data, {.steps = 0}); }),
            "overfit: steps is 0, it must be at least 1");
}

TEST(FastDevRun, TakesAStepAndLeavesNothing) {
  auto learner = line_learner({.epochs = 50, .seed = 2});
  const Heard heard;
  learner.metric(metric::MeanAbsoluteError{}).add(heard);
  auto data = loader(40, {.batch_size = 8}), valid = loader(16, {.batch_size = 8});
  const auto before = weights(learner.model());
  const auto end = learner.fast_dev_run(data, valid, 2);
  EXPECT_EQ(end.at.step, 2);
  EXPECT_EQ(end.reason, "all 2 steps are done");
  EXPECT_EQ(learner.position().step, 0);
  EXPECT_EQ(weights(learner.model()), before);
  EXPECT_TRUE(heard.events->empty());
  // What follows is as if it had not been.
  auto other = line_learner({.epochs = 2, .seed = 2}), same = line_learner({.epochs = 2, .seed = 2});
  (void)same.fast_dev_run(data);
  other.fit(data);
  same.fit(data);
  EXPECT_EQ(weights(other.model()), weights(same.model()));
  // Data to measure that have no end are not counted.
  const auto join = [](std::span<const Point> items) {
    Points batch;
    for (const Point& item : items) batch.x.push_back(item.x), batch.y.push_back(item.y);
    return batch;
  };
  StreamLoader endless(repeated(stream_of(points(8))), join, {.batch_size = 4});
  EXPECT_EQ(learner.fast_dev_run(data, endless).at.step, 1);
  EXPECT_EQ(said_by([&] { (void)learner.fast_dev_run(data, 0); }), "fast_dev_run: 0 steps; it takes at least one");
}

TEST(FastDevRun, FindsAValidationThatFails) {
  auto learner = line_learner({.epochs = 1});
  learner.valid_step([](const Line&, Points) -> RegressionOutput { throw std::runtime_error("no"); });
  auto data = loader(8, {.batch_size = 8});
  EXPECT_THROW((void)learner.fast_dev_run(data, data), std::runtime_error);
}

TEST(Predict, JoinsTensorsInTheOrderOfTheData) {
  auto data = loader(10, {.batch_size = 4});
  const Line model = line(0.5);  // whose dropout does nothing here
  const auto w = weights(model);
  std::vector<float> x;
  for (const Points& batch : data) x.insert(x.end(), batch.x.begin(), batch.x.end());
  const auto forward = [](const Line& m, const Points& batch) {
    return m.forward(Tensor<2>::of(batch.x, {static_cast<std::int64_t>(batch.x.size()), 1}, Device::cpu()));
  };
  const Tensor<2> all = predict(model, forward, data);
  ASSERT_EQ(all.shape(), Shape({10, 1}));
  EXPECT_FALSE(all.tracked());
  for (std::size_t i = 0; i < 10; ++i) EXPECT_NEAR(all.to_vector<float>()[i], w[0] * x[i] + w[1], 1e-6);

  const std::vector<RegressionOutput> outputs = line_learner({.epochs = 1}).predict(fit_points, data);
  ASSERT_EQ(outputs.size(), 3u);
  EXPECT_EQ(outputs[2].predictions.dim(0), 2);
  const std::vector<Points> none;
  EXPECT_EQ(said_by([&] { (void)predict(model, forward, none); }), "predict: the data have no batches");
}

TEST(BatchSize, IsTheLargestOfAllThatFit) {
  // A step in the need for memory, and a limit below, at and above it.
  const auto need = [](std::int64_t size) { return 1000 + 37 * size + (size > 60 ? 500 : 0); };
  for (const std::int64_t bytes : {1037, 1100, 3219, 3220, 3256, 3757, 5000, 100000}) {
    std::int64_t largest = 0, tried = 0, worst = 0;
    for (std::int64_t size = 1; size <= 300; ++size)
      if (need(size) <= bytes) largest = size;
    const auto found = training::search_batch_size({.most = 300}, bytes, [&](std::int64_t size) {
      ++tried;
      worst = std::max(worst, size);
      return std::optional(need(size));
    });
    EXPECT_EQ(found.size, largest) << bytes;
    EXPECT_LE(tried, 14) << bytes;
    EXPECT_LE(worst, 2 * largest) << bytes;
  }
}

TEST(BatchSize, TakesMemoryThatRunsOutAsALimit) {
  const auto peak = [](std::int64_t size) -> std::optional<std::int64_t> {
    if (size > 77) return std::nullopt;
    return 5;  // says nothing of its need
  };
  const auto found = training::search_batch_size({}, 1000, peak);
  EXPECT_EQ(found.size, 77);
  EXPECT_EQ(found.reason, "a batch of 78 needs more than 1000 bytes");
  EXPECT_EQ(said_by([&] { (void)training::search_batch_size({.first = 100}, 1000, peak); }),
            "batch size finder: a batch of 100 needs more than there is, and the limit is 1000 bytes");
}

TEST(BatchSize, RefusesWhatItCannotTry) {
  const auto says = [](const BatchSizeConfig& config) { return said_by([&] { config.check(); }); };
  EXPECT_EQ(says({.first = 0}), "batch size finder: first = 0 must be at least 1 and at most most = 65536");
  EXPECT_EQ(says({.most = std::int64_t{1} << 62}),
            "batch size finder: most is 4611686018427387904, it must be at most 1099511627776");
}

TEST(BatchSize, OfATraining) {
  const Line model = line();
  const auto loader_of = [](std::int64_t size) { return loader(1 << 12, {.batch_size = size}); };
  const auto peak_of = [&](std::int64_t size) {
    Device::cpu().reset_memory_peak();
    auto data = loader_of(size);
    Learner learner(model, AdamConfig{}.init(model), fit_points, {.steps = 2});
    learner.fit(data);
    return Device::cpu().memory().peak;
  };
  const std::int64_t limit = peak_of(1000);
  const auto found =
      find_batch_size(model, AdamConfig{}.init(model), fit_points, loader_of, {.most = 4096, .bytes = limit});
  EXPECT_GE(found.size, 900);  // blocks have sizes in steps
  EXPECT_LE(found.size, 1200);
  EXPECT_LE(peak_of(found.size), limit);
}

TEST(BatchSize, OfFewDataIsTheirNumber) {
  const Line model = line();
  const auto find = [&](auto loader_of, const BatchSizeConfig& config) {
    return find_batch_size(model, AdamConfig{}.init(model), fit_points, loader_of, config);
  };
  const auto few = [](std::int64_t size) { return loader(10, {.batch_size = size, .drop_last = true}); };
  const auto found = find(few, {.bytes = std::int64_t{1} << 30});
  EXPECT_EQ(found.size, 10);
  EXPECT_EQ(found.reason, "the data have 10 items");
  EXPECT_EQ(find(few, {.most = 10, .bytes = std::int64_t{1} << 30}).reason, "the largest size to try is 10");
  EXPECT_EQ(said_by([&] { (void)find(few, {.first = 11}); }),
            "batch size finder: the data have 10 items, fewer than the first size to try, 11");
  const auto batches = [](std::int64_t size) {
    auto data = loader(10, {.batch_size = size});
    return first_batches(data, 1);
  };
  EXPECT_EQ(
      said_by([&] { (void)find(batches, {.first = 8, .bytes = std::int64_t{1} << 30}); }),
      "batch size finder: for size 16 the largest batch had 10 items, which says nothing of the memory for 16: set "
      "most to the number of items of the data");
}

}  // namespace
}  // namespace kiln
