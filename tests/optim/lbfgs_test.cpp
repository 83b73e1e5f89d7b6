// L-BFGS against PyTorch's figures and closed forms.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "kiln/optim.hpp"
#include "tests/optim/torch_figures.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using LineSearch = LbfgsConfig::LineSearch;

using test::autodiff;

struct Valley {
  nn::Param<2> a;  // [2, 3]
  nn::Param<1> b;  // [3]
};
Valley make_valley(DType dtype = DType::F64) {
  const auto start = [&](const Shape& shape, int k) {
    std::vector<double> x;
    for (int i = 0; i < numel(shape); ++i) x.push_back(std::cos(1.7 * i + k));
    return cast(from_data(TensorData::of<double>(shape, x), autodiff), dtype);
  };
  return {nn::Param<2>(start({2, 3}, 0)), nn::Param<1>(start({3}, 2))};
}
/// What torch_figures.py has.
Tensor<0> loss_of(const Valley& v) {
  const auto ahead = v.b.narrow(0, 1, 2), behind = v.b.narrow(0, 0, 2);
  const auto valley = ((ahead - behind.square()).square() * 10.0 + (1.0 - behind).square()).sum();
  return valley + (v.a + v.b * 0.3).square().sum() + v.a.square().square().sum() * 0.1;
}
std::vector<double> numbers(const Valley& v) {
  auto all = v.a.to_vector<double>();
  for (const double x : v.b.to_vector<double>()) all.push_back(x);
  return all;
}

template <std::size_t N>
void expect_follows(const LbfgsConfig& config, double rate, const double (&expected)[N]) {
  Valley valley = make_valley();
  Lbfgs lbfgs = config.init(valley);
  constexpr std::size_t kSteps = 50, kSmall = 6;
  static_assert(N == 9 * (kSmall + 1));
  for (std::size_t step = 1; step <= kSteps; ++step) {
    valley = lbfgs.step(rate, valley, loss_of).model;
    if (step > kSmall && step < kSteps) continue;
    const auto found = numbers(valley);
    const double* const there = expected + 9 * (std::min(step, kSmall + 1) - 1);
    for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(found[i], there[i], 1e-10) << i << ", step " << step;
  }
}
TEST(Lbfgs, FollowsPyTorchAlongAValley) {
  expect_follows({.history = 3, .iterations = 3, .evaluations = 3}, 1, kTorchLbfgsSearch);
  expect_follows({.iterations = 2, .evaluations = 2, .line_search = LineSearch::None}, 0.3, kTorchLbfgsFixed);
}

TEST(Lbfgs, FindsTheBottom) {
  for (const DType dtype : {DType::F64, DType::F32}) {
    Valley valley = make_valley(dtype);
    Lbfgs lbfgs = LbfgsConfig{.iterations = 200, .evaluations = 400, .change_tolerance = 1e-15}.init(valley);
    valley = lbfgs.step(1, valley, loss_of).model;
    const auto [loss, grads] = value_and_grad(valley, loss_of);
    EXPECT_LT(global_norm(grads).item(), dtype == DType::F64 ? 1e-5 : 1e-3);
  }
}

// (x - c)² D in three dimensions: with a line search, the bottom c within a few iterations.
TEST(Lbfgs, FindsTheBottomOfABowl) {
  struct Bowl {
    nn::Param<1> x;
  };
  const auto c = Tensor<1>::of({1, -2, 3}, autodiff, DType::F64), d = Tensor<1>::of({1, 10, 100}, autodiff, DType::F64);
  Bowl bowl{nn::Param<1>(Tensor<1>::of({0, 0, 0}, autodiff, DType::F64))};
  auto [next, loss] = LbfgsConfig{.iterations = 30, .evaluations = 60}.init(bowl).step(
      1, bowl, [&](const Bowl& m) { return ((m.x - c).square() * d).sum(); });
  EXPECT_EQ(loss, 1 + 40 + 900);
  const auto found = next.x.to_vector<double>();
  EXPECT_NEAR(found[0], 1, 1e-6);
  EXPECT_NEAR(found[1], -2, 1e-6);
  EXPECT_NEAR(found[2], 3, 1e-6);
  EXPECT_EQ(bowl.x.to_vector<double>(), (std::vector<double>{0, 0, 0}));
}

TEST(Lbfgs, MovesHalvesByStepsThatTheyCannotHold) {
  struct Small {
    nn::Param<1> x;
  };
  Small small{nn::Param<1>(Tensor<1>::of({1.0}, autodiff, DType::BF16))};
  // Down x in steps of 1e-3, a quarter of what bfloat16 tells apart below 1.
  Lbfgs lbfgs = LbfgsConfig{.iterations = 1, .line_search = LineSearch::None}.init(small);
  for (int i = 0; i < 8; ++i)
    small = lbfgs.step(1e-3, small, [](const Small& m) { return Tensor<0>(m.x.sum().to(DType::F32)); }).model;
  EXPECT_EQ(small.x.dtype(), DType::BF16);
  EXPECT_EQ(small.x.to_vector<double>()[0], float(BF16(0.992F)));
}

TEST(Lbfgs, GoesOnFromARecordWithTheSameBits) {
  const LbfgsConfig config{.history = 3, .iterations = 2, .evaluations = 5};
  for (const int steps : {0, 1, 4}) {
    Valley valley = make_valley();
    Lbfgs lbfgs = config.init(valley), other = config.init(valley);
    for (int i = 0; i < steps; ++i) valley = lbfgs.step(1, valley, loss_of).model;
    std::map<std::string, TensorData> record;
    std::as_const(lbfgs).visit_state(
        [&](const std::string& name, const auto& part) { record[name] = Value(part).data(); });
    other.visit_state([&]<class P>(const std::string& name, P& part) {
      if constexpr (std::same_as<P, std::int64_t>) part = record.at(name).to_vector<std::int64_t>()[0];
      else part = from_data(record.at(name), autodiff);
    });
    Valley same = valley;
    for (int i = 0; i < 3; ++i) {
      valley = lbfgs.step(1, valley, loss_of).model;
      same = other.step(1, same, loss_of).model;
      EXPECT_EQ(numbers(same), numbers(valley));
    }
  }
}

TEST(Lbfgs, LeavesAModelAloneWhoseLossIsNoNumber) {
  const Valley valley = make_valley();
  Lbfgs lbfgs = LbfgsConfig{}.init(valley);
  const auto [next, loss] = lbfgs.step(1, valley, [](const Valley& v) { return loss_of(v) * std::nan(""); });
  EXPECT_TRUE(std::isnan(loss));
  EXPECT_EQ(numbers(next), numbers(valley));
}

// log is no number below zero, where the first try leads.
TEST(Lbfgs, ComesBackFromWhereTheLossIsNoNumber) {
  struct Positive {
    nn::Param<1> x;
  };
  Positive m{nn::Param<1>(Tensor<1>::of({4.0}, autodiff, DType::F64))};
  Lbfgs lbfgs = LbfgsConfig{.iterations = 30, .evaluations = 90}.init(m);
  m = lbfgs.step(20, m, [](const Positive& p) { return (p.x - p.x.log()).sum(); }).model;
  EXPECT_NEAR(m.x.to_vector<double>()[0], 1, 1e-5);
}

TEST(Lbfgs, IsAsBeforeWhereTheLossFails) {
  Valley valley = make_valley(), same = valley;
  Lbfgs lbfgs = LbfgsConfig{.iterations = 2}.init(valley), other = LbfgsConfig{.iterations = 2}.init(valley);
  valley = lbfgs.step(1, valley, loss_of).model;
  same = other.step(1, same, loss_of).model;
  int calls = 0;
  EXPECT_EQ(sentence_of([&] {
              lbfgs.step(1, valley, [&](const Valley& v) {
                if (++calls == 3) fail<DataError>("a batch is damaged");
                return loss_of(v);
              });
            }),
            "DataError: a batch is damaged");
  EXPECT_EQ(numbers(lbfgs.step(1, valley, loss_of).model), numbers(other.step(1, same, loss_of).model));
}

TEST(Lbfgs, SaysWhatIsWrong) {
  const Valley valley = make_valley();
  EXPECT_EQ(
      sentence_of([&] { LbfgsConfig{.history = 0}.init(valley); }),
      "ArgumentError: LbfgsConfig: history = 0 and iterations = 20 must be positive, evaluations = 25 at least 2");
  EXPECT_EQ(sentence_of([&] { LbfgsConfig{.change_tolerance = -1}.init(valley); }),
            "ArgumentError: LbfgsConfig: change_tolerance = -1 must not be negative");
  Lbfgs lbfgs = LbfgsConfig{}.init(valley);
  EXPECT_EQ(sentence_of([&] { lbfgs.step(0, valley, loss_of); }), "ArgumentError: Lbfgs: a learning rate of 0");
  Valley other = valley;
  other.b = nn::Param<1>(Tensor<1>::of({1, 2}, autodiff, DType::F64));
  EXPECT_EQ(sentence_of([&] { lbfgs.step(1, other, loss_of); }),
            "ArgumentError: Lbfgs: the model has 8 elements to train, it had 9");
}

}  // namespace
}  // namespace kiln
