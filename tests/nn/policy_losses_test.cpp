// Losses of language models' answers, against loops in float64.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kiln/nn/loss/of_policies.hpp"
#include "kiln/tensor/arithmetic.hpp"

#include "expect_loss.hpp"
#include "sines.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using test::autodiff, test::cpu;

TEST(DpoLoss, PrefersWhatWasChosenMoreThanTheReferenceDoes) {
  const auto column = [](double start) { return Tensor<1>(sines({3}, 0.8, start, cpu, DType::F64)) * 20.0; };
  const nn::Preferences p{column(0.1), column(0.9), column(1.7), column(2.3)};
  const auto c = p.chosen.to_vector<double>(), r = p.rejected.to_vector<double>(),
             rc = p.reference_chosen.to_vector<double>(), rr = p.reference_rejected.to_vector<double>();
  for (const double smoothing : {0.0, 0.25}) {
    Doubles each;
    for (std::size_t i = 0; i < 3; ++i) {
      const double margin = 0.3 * ((c[i] - rc[i]) - (r[i] - rr[i]));
      each.push_back((1 - smoothing) * std::log1p(std::exp(-margin)) + smoothing * std::log1p(std::exp(margin)));
    }
    expect_loss(nn::DpoLoss{.beta = 0.3, .label_smoothing = smoothing}, each, p);
  }
}

/// Logarithms of probabilities, [3, 4].
Tensor<2> logs(double step, double start, const Device& device = cpu) {
  return Tensor<2>(sines({3, 4}, step, start, device, DType::F64)) * 0.8 - 1.0;
}
/// Answers of 4, 2 and no tokens.
const std::size_t kTokens[] = {4, 2, 0};
Tensor<2, Bool> mask() { return Tensor<2, Int>::of({{1, 1, 1, 1}, {1, 1, 0, 0}, {0, 0, 0, 0}}, cpu).eq(1); }
const double kAdvantages[] = {1.5, -0.75, 1};
Tensor<1> advantages() { return Tensor<1>::of({1.5, -0.75, 1}, cpu).to(DType::F64); }

struct Grpo {
  double clip = 0.2, clip_above = 0.2, beta = 0.04;
};
double grpo(const Grpo& loss, std::size_t answer, std::size_t tokens, const Doubles& now, const Doubles& old,
            const Doubles& reference) {
  double sum = 0;
  for (std::size_t t = 0; t < tokens; ++t) {
    const std::size_t i = 4 * answer + t;
    const double r = std::exp(now[i] - old[i]), a = kAdvantages[answer], q = std::exp(reference[i] - now[i]);
    const double clipped = std::min(std::max(r, 1 - loss.clip), 1 + loss.clip_above);
    sum += -std::min(r * a, clipped * a) + loss.beta * (q - std::log(q) - 1);
  }
  return tokens ? sum / static_cast<double>(tokens) : 0;
}

TEST(GrpoLoss, ImprovesWhatWasBetterThanTheRestOfItsGroup) {
  const auto now = logs(0.9, 0.1), old = logs(0.9, 0.4), reference = logs(0.5, 1);
  const Doubles n = now.to_vector<double>(), o = old.to_vector<double>(), r = reference.to_vector<double>();
  Doubles whole, masked, alone, wide;
  for (std::size_t i = 0; i < 3; ++i) {
    whole.push_back(grpo({}, i, 4, n, o, r));
    masked.push_back(grpo({}, i, kTokens[i], n, o, r));
    wide.push_back(grpo({.clip = 0.1, .clip_above = 0.28, .beta = 0}, i, kTokens[i], n, o, r));
    alone.push_back(grpo({}, i, 4, n, n, r));
  }
  EXPECT_LT(wide[0] - masked[0], -1e-3);  // ratios are beyond the bounds
  expect_loss(nn::GrpoLoss{}, whole, nn::Answers{now, advantages(), old, reference});
  expect_loss(nn::GrpoLoss{}, masked, nn::Answers{now, advantages(), old, reference, mask()});
  expect_loss(nn::GrpoLoss{}, alone,
              nn::Answers{.log_probabilities = now, .advantages = advantages(), .reference = reference});
  expect_loss(
      nn::GrpoLoss{.clip = 0.1, .clip_above = 0.28, .beta = 0}, wide,
      nn::Answers{.log_probabilities = now, .advantages = advantages(), .old_log_probabilities = old, .mask = mask()});
}

TEST(GrpoLoss, HasTheGradientOfItsFormula) {
  const auto old = logs(0.9, 0.4), reference = logs(0.5, 1);
  const Doubles o = old.to_vector<double>(), r = reference.to_vector<double>();
  const Tensor<2> now = logs(0.9, 0.1, autodiff).detach().require_grad();
  const auto loss = nn::GrpoLoss{.reduction = Reduction::Sum}.forward({now, advantages(), old, reference, mask()});
  const Doubles slopes = loss.backward().of(now).to_vector<double>();
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    const auto at = [&](double step) {
      Doubles n = now.to_vector<double>();
      n[i] += step;
      return grpo({}, i / 4, kTokens[i / 4], n, o, r);
    };
    EXPECT_NEAR(slopes[i], (at(1e-6) - at(-1e-6)) / 2e-6, 1e-7) << i;
  }
}

TEST(GrpoLoss, HasTheSlopeOfThePolicyGradientWhereThePolicyIsTheOneThatDrew) {
  const Tensor<2> now = logs(0.9, 0.1, autodiff).detach().require_grad();
  const auto loss = nn::GrpoLoss{.beta = 0, .reduction = Reduction::Sum}.forward({now, advantages()});
  const Doubles slopes = loss.backward().of(now).to_vector<double>();
  for (std::size_t i = 0; i < slopes.size(); ++i) EXPECT_NEAR(slopes[i], -kAdvantages[i / 4] / 4, 1e-12);
}

TEST(GrpoLoss, LooksAtNothingBehindAnAnswersEnd) {
  const float none = -std::numeric_limits<float>::infinity();
  const auto probabilities = [&](const Device& device) { return Tensor<2>::of({{-1, -2, none}}, device); };
  const Tensor<2> now = probabilities(autodiff).require_grad();
  const auto loss = nn::GrpoLoss{}.forward({now, Tensor<1>::of({1}, cpu), probabilities(cpu), probabilities(cpu),
                                            Tensor<2, Int>::of({{1, 1, 0}}, cpu).eq(1)});
  EXPECT_EQ(loss.item(), -1);
  EXPECT_EQ(loss.backward().of(now).to_vector(), (std::vector<float>{-0.5, -0.5, 0}));
}

TEST(GroupAdvantages, AreAboutEachQuestionsMean) {
  const auto rewards = Tensor<2>::of({{1, 0, 0, 1}, {3, 3, 3, 3}, {0, 0, 0, 4}}, cpu).to(DType::F64);
  const double one = 0.5 / (std::sqrt(1.0 / 3) + 1e-4), deviation = 2 + 1e-4;
  const Doubles right{one, -one, -one, one, 0, 0, 0, 0, -1 / deviation, -1 / deviation, -1 / deviation, 3 / deviation};
  const Doubles found = nn::group_advantages(rewards).to_vector<double>();
  ASSERT_EQ(found.size(), right.size());
  for (std::size_t i = 0; i < right.size(); ++i) EXPECT_NEAR(found[i], right[i], 1e-12) << i;
  EXPECT_EQ(nn::group_advantages(rewards, false).to_vector<double>(),
            (Doubles{0.5, -0.5, -0.5, 0.5, 0, 0, 0, 0, -1, -1, -1, 3}));
}

TEST(GrpoLoss, SaysWhatIsWrong) {
  const auto said = [](const nn::GrpoLoss& loss, const nn::Answers& answers) {
    return sentence_of([&] { return loss.forward(answers); });
  };
  const auto now = logs(0.9, 0.1);
  EXPECT_EQ(said({}, {now, advantages()}),
            "ArgumentError: GrpoLoss: beta = 0.04 weighs the distance from a reference, and none is given");
  EXPECT_EQ(said({}, {now, advantages().narrow(0, 0, 2)}),
            "ShapeError: GrpoLoss: advantages [2] must be one for each answer of [3, 4]");
  EXPECT_EQ(said({}, {.log_probabilities = now, .advantages = advantages(), .reference = now.narrow(1, 0, 1)}),
            "ShapeError: GrpoLoss: reference [3, 1] and log_probabilities [3, 4] differ");
  EXPECT_EQ(said({.clip = -1}, {now, advantages()}), "ArgumentError: GrpoLoss: clip must not be negative, got -1");
  EXPECT_EQ(said({}, {}), "ArgumentError: GrpoLoss: log_probabilities and advantages are needed");
  EXPECT_EQ(said({.reduction = Reduction::None}, {now, advantages(), now, now}),
            "ArgumentError: GrpoLoss: forward() gives one number; with Reduction::None call forward_each()");
  EXPECT_EQ(sentence_of([] { return nn::group_advantages(Tensor<2>::of({{1}, {2}}, cpu)); }),
            "ShapeError: group_advantages: needs [questions, answers] with two answers or more, got [2, 1]");
}

}  // namespace
}  // namespace kiln
