// A Learner on a device that answers late goes on before it knows its losses, and tells all the same as one that waits.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "kiln/core/random.hpp"
#include "kiln/nn.hpp"
#include "kiln/optim/rules/adam.hpp"
#include "kiln/train/learner.hpp"
#include "tests/backend/remote/hosted_pair.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

/// A connection whose answers come late, so that each step is over before its loss is there.
class Late final : public net::Connection {
 public:
  explicit Late(std::unique_ptr<net::Connection> inner) : inner_(std::move(inner)) {}
  void send(std::span<const std::byte> message) override { inner_->send(message); }
  std::optional<net::Message> receive() override {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return inner_->receive();
  }
  void close() noexcept override { inner_->close(); }
  std::string peer() const override { return inner_->peer(); }

 private:
  const std::unique_ptr<net::Connection> inner_;
};

struct Net {
  nn::Linear first;
  nn::BatchNorm norm;
  nn::Dropout dropout;
  nn::Linear second;
  Tensor<2> forward(const Tensor<2>& x) const {
    return second.forward(dropout.forward(norm.forward(first.forward(x)).relu()));
  }
};
Net net_on(const Device& device) {
  device.seed(3);
  return kiln::train(Net{.first = nn::LinearConfig{.in = 4, .out = 6}.init(device),
                         .norm = nn::BatchNormConfig{.channels = 6}.init(device),
                         .dropout = {.probability = 0.25},
                         .second = nn::LinearConfig{.in = 6, .out = 3}.init(device)});
}

constexpr std::int64_t kItems = 8, kBatches = 9;
struct Batch {
  std::vector<float> x;
  std::vector<std::int64_t> y;
  bool counts = true;
};
std::vector<Batch> batches(int bad = -1) {
  Random random(Key{5});
  std::vector<Batch> all(kBatches);
  for (int i = 0; i < kBatches; ++i) {
    for (int k = 0; k < kItems * 4; ++k) all[i].x.push_back(static_cast<float>(random.uniform(-1, 1)));
    for (int k = 0; k < kItems; ++k) all[i].y.push_back(all[i].x[k * 4] > all[i].x[k * 4 + 1] ? 1 : k % 3);
    if (i == bad) all[i].x[0] = std::nanf("");
    if (i + kBatches == bad) all[i].y.pop_back();  // too few targets
  }
  return all;
}

/// What a training says and leaves behind, without times.
struct Told {
  std::vector<std::string> events;
  std::vector<float> weights;
  std::string error;
  training::Position at;
  int most_ahead = 0;  // forward passes beyond the step that was told of
};

struct Notes {
  Told* told;
  const int* passes;

  void on(const training::Step& step, const Net& model) {
    told->events.push_back(text("step ", step.at.step, " of batch ", step.at.batch, ": loss ", step.loss, ", ",
                                step.items, " items, rate ", step.rates[0], ", weight ",
                                model.second.weight.to_vector<float>()[0], ", mean ",
                                model.norm.running_mean.get().to_vector<float>()[0]));
    told->most_ahead = std::max(told->most_ahead, *passes - static_cast<int>(step.at.step));
  }
};
struct Readings {
  Told* told;
  int stop_at;
  void on(const training::Step& step, Interrupter& control) {
    if (step.at.step == stop_at) control.stop("enough");
  }
  void on(const training::Evaluation& evaluation) {
    std::string line = text(evaluation.split, " after ", evaluation.at.step);
    for (const Reading& reading : evaluation.readings) line += text(", ", reading.name, ' ', reading.value);
    told->events.push_back(line);
  }
  void on(const training::EpochEnd& end) { told->events.push_back(text("epoch ", end.at.epoch)); }
  void on(const training::RunEnd& end) { told->events.push_back(text(end.reason, " after ", end.at.step)); }
};

/// Batches that come slowly, or end before they should.
struct Source {
  struct Iterator {
    Batch* at;
    std::chrono::milliseconds pause;
    Batch& operator*() const {
      std::this_thread::sleep_for(pause);
      return *at;
    }
    Iterator& operator++() {
      ++at;
      return *this;
    }
    bool operator==(const Iterator& other) const { return at == other.at; }
  };
  std::vector<Batch> all;
  std::chrono::milliseconds pause{};
  std::size_t missing = 0;

  Iterator begin() { return {all.data(), pause}; }
  Iterator end() { return {all.data() + all.size(), pause}; }
  std::size_t size() const { return all.size() + missing; }
};

Told trained(const Device& plain, int not_finite = -1, int stop_at = -1, NotFinite rule = NotFinite::Stop,
             std::chrono::milliseconds pause = {}, std::size_t missing = 0) {
  const Device device = plain.autodiff();
  Told told;
  int passes = 0;
  const auto step = [&passes, device](const Net& net, const Batch& batch) -> ClassificationOutput {
    passes += batch.counts;
    const auto x = Tensor<2>::of(batch.x, {kItems, 4}, device);
    const auto targets = Tensor<1, Int>::of(batch.y, {kItems}, device);
    const Tensor<2> scores = net.forward(x);
    return {nn::CrossEntropyLoss{}.forward(scores, targets), scores, targets};
  };
  Net net = net_on(device);
  Adam optimizer = AdamConfig{}.init(net);
  Learner learner(std::move(net), std::move(optimizer), step,
                  LearnerConfig{.epochs = 3, .log_every = 4, .not_finite = rule, .seed = 7});
  learner.rate(0.05).metric(metric::Accuracy{}).add(Notes{&told, &passes}).add(Readings{&told, stop_at});
  Source data{batches(not_finite), pause, missing};
  std::vector<Batch> valid = batches();
  for (Batch& each : valid) each.counts = false;
  told.error = sentence_of([&] { learner.fit(data, valid); });
  visit_params(learner.model(), [&](const std::string&, const nn::AnyLeaf& param) {
    for (const float each : param.value().data().to_vector<float>()) told.weights.push_back(each);
  });
  told.at = learner.position();
  return told;
}

void expect_same(const Told& far, const Told& here) {
  EXPECT_EQ(far.events, here.events);
  EXPECT_EQ(far.weights, here.weights);
  EXPECT_EQ(far.error, here.error);
  EXPECT_EQ(far.at.step, here.at.step);
  EXPECT_EQ(far.at.batch, here.at.batch);
  EXPECT_EQ(far.at.epoch, here.at.epoch);
  EXPECT_EQ(far.at.items, here.at.items);
  EXPECT_EQ(here.most_ahead, 0);
}

struct LateTraining : testing::Test {
  remote::Host host{{Device::cpu()}};
  test::Dialer dialer{&host};
  Device device{make_ref<remote::Remote>([this] { return std::make_unique<Late>(dialer()); })};
};

TEST_F(LateTraining, TellsTheSameAsOneThatWaits) {
  const Told far = trained(device), here = trained(Device::cpu());
  EXPECT_EQ(here.error, "");
  EXPECT_EQ(here.at.step, 3 * kBatches);
  expect_same(far, here);
  EXPECT_GE(far.most_ahead, 2);  // it was ahead
}

TEST_F(LateTraining, EndsWhereACallbackStopsIt) {
  const Told far = trained(device, -1, 11), here = trained(Device::cpu(), -1, 11);
  EXPECT_EQ(here.at.step, 11);
  expect_same(far, here);
  EXPECT_GE(far.most_ahead, 1);
}

TEST_F(LateTraining, TakesNoStepAfterACallbackStoppedItAtALossThatCameInTime) {
  constexpr std::chrono::milliseconds kPause{30};
  const Told far = trained(device, -1, 6, NotFinite::Stop, kPause), here = trained(Device::cpu(), -1, 6);
  EXPECT_EQ(here.at.step, 6);
  expect_same(far, here);
}

TEST_F(LateTraining, ALossThatIsNotFiniteEndsItAsIfNoLaterStepHadBeenTaken) {
  const Told far = trained(device, 5), here = trained(Device::cpu(), 5);
  EXPECT_NE(here.error.find("the loss of step 6 is nan (epoch 1, batch 6)"), std::string::npos) << here.error;
  expect_same(far, here);
}

TEST_F(LateTraining, AnErrorOfALaterBatchComesAfterTheStepsBefore) {
  const Told far = trained(device, kBatches + 6), here = trained(Device::cpu(), kBatches + 6);
  EXPECT_NE(here.error, "");
  EXPECT_EQ(here.at.step, 6);
  EXPECT_FALSE(here.events.empty());
  expect_same(far, here);
}

TEST_F(LateTraining, AStopComesBeforeAnErrorOfALaterBatch) {
  for (const int stop_at : {5, 6}) {
    const Told far = trained(device, kBatches + 6, stop_at), here = trained(Device::cpu(), kBatches + 6, stop_at);
    EXPECT_EQ(here.error, "");
    EXPECT_EQ(here.at.step, stop_at);
    expect_same(far, here);
  }
}

TEST_F(LateTraining, DataThatEndTooEarlyEndItAfterTheStepsBefore) {
  const Told far = trained(device, -1, -1, NotFinite::Stop, {}, 1),
             here = trained(Device::cpu(), -1, -1, NotFinite::Stop, {}, 1);
  EXPECT_NE(here.error.find("ended after 9 of 10 batches"), std::string::npos) << here.error;
  expect_same(far, here);
}

/// An output with a tensor that no step sets.
struct Spared {
  Tensor<0> loss;
  Tensor<2> scores;
  Tensor<1, Int> targets;
  Tensor<1> spare{};
  std::int64_t items() const { return kItems; }
};

TEST_F(LateTraining, OutputsMayHaveEmptyTensors) {
  const auto told_by = [](const Device& plain) {
    const Device on = plain.autodiff();
    const auto step = [on](const Net& net, const Batch& batch) -> Spared {
      const auto targets = Tensor<1, Int>::of(batch.y, {kItems}, on);
      const Tensor<2> scores = net.forward(Tensor<2>::of(batch.x, {kItems, 4}, on));
      return {nn::CrossEntropyLoss{}.forward(scores, targets), scores, targets};
    };
    Net net = net_on(on);
    Adam optimizer = AdamConfig{}.init(net);
    Learner learner(std::move(net), std::move(optimizer), step, LearnerConfig{.epochs = 1, .seed = 7});
    Told told;
    learner.metric(metric::Accuracy{}).add(Readings{&told, -1});
    std::vector<Batch> data = batches();
    told.error = sentence_of([&] { learner.fit(data, data); });
    return told;
  };
  const Told far = told_by(device), here = told_by(Device::cpu());
  EXPECT_EQ(here.error, "");
  EXPECT_FALSE(here.events.empty());
  expect_same(far, here);
}

TEST_F(LateTraining, StepsThatAreLeftOutAreNotTakenAhead) {
  const Told far = trained(device, 5, -1, NotFinite::Skip), here = trained(Device::cpu(), 5, -1, NotFinite::Skip);
  EXPECT_EQ(here.at.step, 3 * kBatches);
  expect_same(far, here);
  EXPECT_EQ(far.most_ahead, 0);
}

}  // namespace
}  // namespace kiln
