// Every loss as a module against a loop in float64, with each reduction.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "kiln/nn/loss/loss.hpp"

#include "differences.hpp"
#include "expect_loss.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using test::cpu;
constexpr std::size_t kColumns = 4;

Tensor<2> numbers(double step, double start) { return Tensor<2>(sines({3, 4}, step, start, cpu, DType::F64)); }
Tensor<2> shares(double step, double start) { return numbers(step, start) * 0.4 + 0.5; }
Tensor<2> signs() { return numbers(1.7, 0.3).gt(0.0).to_float(DType::F64) * 2.0 - 1.0; }

/// f(x, t) of each element.
Doubles each_of(const Tensor<2>& x, const Tensor<2>& t, const std::function<double(double, double)>& f) {
  const Doubles a = x.to_vector<double>(), b = t.to_vector<double>();
  Doubles result;
  for (std::size_t i = 0; i < a.size(); ++i) result.push_back(f(a[i], b[i]));
  return result;
}

TEST(Losses, OfNumbers) {
  const auto x = numbers(0.9, 0.1) * 2.0, t = numbers(0.5, 1);
  expect_loss(nn::MseLoss{}, each_of(x, t, [](double a, double b) { return (a - b) * (a - b); }), x, t);
  expect_loss(nn::L1Loss{}, each_of(x, t, [](double a, double b) { return std::abs(a - b); }), x, t);
  expect_loss(nn::LpLoss{.p = 3}, each_of(x, t, [](double a, double b) { return std::pow(std::abs(a - b), 3); }), x, t);
  expect_loss(nn::SmoothL1Loss{.beta = 0.6},
              each_of(x, t,
                      [](double a, double b) {
                        const double d = std::abs(a - b);
                        return d < 0.6 ? d * d / 1.2 : d - 0.3;
                      }),
              x, t);
  expect_loss(nn::HuberLoss{.delta = 0.6},
              each_of(x, t,
                      [](double a, double b) {
                        const double d = std::abs(a - b);
                        return d <= 0.6 ? d * d / 2 : 0.6 * (d - 0.3);
                      }),
              x, t);
}

TEST(Losses, OfDistributions) {
  const auto x = numbers(0.9, 0.1), t = shares(0.5, 1), variance = shares(0.8, 2);
  expect_loss(nn::KlDivLoss{}, each_of(x, t, [](double a, double b) { return b * (std::log(b) - a); }), x, t);
  expect_loss(nn::KlDivLoss{.log_target = true},
              each_of(x, x * 0.5, [](double a, double b) { return std::exp(b) * (b - a); }), x, x * 0.5);
  EXPECT_EQ(nn::KlDivLoss{}.reduction, Reduction::BatchMean);
  expect_loss(nn::PoissonNllLoss{}, each_of(x, t, [](double a, double b) { return std::exp(a) - b * a; }), x, t);
  expect_loss(nn::PoissonNllLoss{.log_input = false, .epsilon = 0.1},
              each_of(t, x, [](double a, double b) { return a - b * std::log(a + 0.1); }), t, x);
  const Doubles v = variance.to_vector<double>();
  std::size_t at = 0;
  const auto each = each_of(x, t, [&](double a, double b) {
    const double spread = v[at++];
    return (std::log(spread) + (a - b) * (a - b) / spread) / 2;
  });
  expect_loss(nn::GaussianNllLoss{}, each, x, t, variance);
}

TEST(Losses, OfBinaryClasses) {
  const auto x = numbers(0.9, 0.1) * 3.0, t = numbers(1.7, 0.3).gt(0.0).to_float(DType::F64);
  const auto p = shares(0.9, 0.1);
  const auto entropy = [](double a, double b) { return -(b * std::log(a) + (1 - b) * std::log(1 - a)); };
  const auto sigmoid = [](double a) { return 1 / (1 + std::exp(-a)); };
  expect_loss(nn::BinaryCrossEntropyLoss{}, each_of(p, t, entropy), p, t);
  expect_loss(nn::BinaryCrossEntropyLoss{.label_smoothing = 0.2},
              each_of(p, t, [&](double a, double b) { return entropy(a, 0.8 * b + 0.1); }), p, t);
  expect_loss(nn::BinaryCrossEntropyWithLogitsLoss{},
              each_of(x, t, [&](double a, double b) { return entropy(sigmoid(a), b); }), x, t);
  const Tensor<1> weights(full({4}, 3.0, cpu, DType::F64));
  expect_loss(
      nn::BinaryCrossEntropyWithLogitsLoss{.positive_weights = weights},
      each_of(x, t,
              [&](double a, double b) { return -(3 * b * std::log(sigmoid(a)) + (1 - b) * std::log(1 - sigmoid(a))); }),
      x, t);
  expect_loss(nn::FocalLoss{.alpha = 0.3, .gamma = 1.5},
              each_of(x, t,
                      [&](double a, double b) {
                        const double q = b > 0 ? sigmoid(a) : 1 - sigmoid(a);
                        return -(b > 0 ? 0.3 : 0.7) * std::pow(1 - q, 1.5) * std::log(q);
                      }),
              x, t);
}

/// f(row of x, row of t) of each row.
Doubles each_row(const Tensor<2>& x, const Tensor<2>& t, const std::function<double(Doubles, Doubles)>& f) {
  Doubles result;
  for (std::int64_t i = 0; i < x.dim(0); ++i)
    result.push_back(f(x.at(0, i).to_vector<double>(), t.at(0, i).to_vector<double>()));
  return result;
}

TEST(Losses, OfClasses) {
  const auto x = numbers(0.9, 0.1) * 2.0;
  const std::vector<std::size_t> classes{2, 0, 3};
  const auto targets = Tensor<1, Int>::of({2, 0, 3}, cpu);
  std::size_t row = 0;
  const auto logs = x.log_softmax(1);
  expect_loss(nn::NllLoss{}, each_row(logs, logs, [&](const Doubles& a, auto) { return -a[classes[row++]]; }), logs,
              targets);
  row = 0;
  const auto cross_entropy = [&](const Doubles& a, auto) {
    double total = 0;
    for (const double score : a) total += std::exp(score);
    return std::log(total) - a[classes[row++]];
  };
  expect_loss(nn::CrossEntropyLoss{}, each_row(x, x, cross_entropy), x, targets);
  row = 0;
  expect_loss(nn::MultiMarginLoss{.margin = 0.7, .power = 2},
              each_row(x, x,
                       [&](const Doubles& a, auto) {
                         const std::size_t right = classes[row++];
                         double sum = 0;
                         for (std::size_t j = 0; j < kColumns; ++j)
                           if (j != right) sum += std::pow(std::max(0.0, 0.7 - a[right] + a[j]), 2);
                         return sum / kColumns;
                       }),
              x, targets);
  const auto p = shares(0.9, 0.1), t = numbers(1.7, 0.3).gt(0.0).to_float(DType::F64);
  expect_loss(nn::DiceLoss{.smooth = 0.5},
              each_row(p, t,
                       [](const Doubles& a, const Doubles& b) {
                         double both = 0, all = 0;
                         for (std::size_t j = 0; j < kColumns; ++j) {
                           both += a[j] * b[j];
                           all += a[j] + b[j];
                         }
                         return 1 - (2 * both + 0.5) / (all + 0.5);
                       }),
              p, t);
  expect_loss(nn::MultilabelSoftMarginLoss{},
              each_row(x, t,
                       [](const Doubles& a, const Doubles& b) {
                         double sum = 0;
                         for (std::size_t j = 0; j < kColumns; ++j) {
                           const double q = 1 / (1 + std::exp(-a[j]));
                           sum -= b[j] * std::log(q) + (1 - b[j]) * std::log(1 - q);
                         }
                         return sum / kColumns;
                       }),
              x, t);
  expect_loss(nn::MultilabelMarginLoss{},
              each_row(x, x,
                       [](const Doubles& a, auto) {
                         double sum = 0;  // classes 1 and 3 are there
                         for (const std::size_t is : {1, 3})
                           for (const std::size_t not_there : {0, 2}) sum += std::max(0.0, 1 - a[is] + a[not_there]);
                         return sum / kColumns;
                       }),
              x, Tensor<2, Int>::of({{1, 3, -1, -1}, {3, 1, -1, 0}, {1, 3, -1, 2}}, cpu));
}

double dot(const Doubles& a, const Doubles& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}
double cosine(const Doubles& a, const Doubles& b) { return dot(a, b) / std::sqrt(dot(a, a) * dot(b, b)); }

TEST(Losses, OfPairs) {
  const auto a = numbers(0.9, 0.1), b = numbers(0.5, 1), y = signs();
  expect_loss(nn::HingeEmbeddingLoss{.margin = 0.6},
              each_of(a, y, [](double x, double s) { return s > 0 ? x : std::max(0.0, 0.6 - x); }), a, y);
  expect_loss(nn::SoftMarginLoss{}, each_of(a, y, [](double x, double s) { return std::log1p(std::exp(-s * x)); }), a,
              y);
  expect_loss(nn::MarginRankingLoss{.margin = 0.2},
              each_of(a - b, y, [](double x, double s) { return std::max(0.0, 0.2 - s * x); }), a, b, y);
  const auto sides = Tensor<1>::of({1, -1, 1}, cpu);
  std::size_t row = 0;
  expect_loss(nn::CosineEmbeddingLoss{.margin = 0.1},
              each_row(a, b,
                       [&](const Doubles& u, const Doubles& v) {
                         return row++ == 1 ? std::max(0.0, cosine(u, v) - 0.1) : 1 - cosine(u, v);
                       }),
              a, b, sides);
  const auto c = numbers(0.7, 2);
  row = 0;
  const auto distance = [](const Doubles& u, const Doubles& v) {
    double sum = 0;
    for (std::size_t i = 0; i < u.size(); ++i) sum += std::pow(u[i] - v[i] + 1e-6, 2);
    return std::sqrt(sum);
  };
  expect_loss(nn::TripletMarginLoss{.margin = 0.5},
              each_row(a, b,
                       [&](const Doubles& u, const Doubles& v) {
                         const auto w = c.at(0, static_cast<int>(row++)).to_vector<double>();
                         return std::max(0.0, distance(u, v) - distance(u, w) + 0.5);
                       }),
              a, b, c);
}

TEST(InfoNceLoss, LetsEachQueryFindItsKey) {
  const auto queries = numbers(0.9, 0.1), keys = numbers(0.5, 1);
  const auto right = [&](bool symmetric) {
    Doubles each;
    const auto find = [&](const Tensor<2>& who, const Tensor<2>& whom, std::int64_t i) {
      double total = 0, own = 0;
      for (std::int64_t j = 0; j < 3; ++j) {
        const double score = cosine(who.at(0, i).to_vector<double>(), whom.at(0, j).to_vector<double>()) / 0.2;
        total += std::exp(score);
        if (i == j) own = score;
      }
      return std::log(total) - own;
    };
    for (std::int64_t i = 0; i < 3; ++i)
      each.push_back(symmetric ? (find(queries, keys, i) + find(keys, queries, i)) / 2 : find(queries, keys, i));
    return each;
  };
  expect_loss(nn::InfoNceLoss{.temperature = 0.2}, right(false), queries, keys);
  expect_loss(nn::InfoNceLoss{.temperature = 0.2, .symmetric = true}, right(true), queries, keys);
  EXPECT_EQ(sentence_of([&] { return nn::InfoNceLoss{}.forward(queries, keys.narrow(0, 0, 2)); }),
            "ShapeError: InfoNceLoss: queries [3, 4] and keys [2, 4] differ");
  EXPECT_EQ(sentence_of([&] { return nn::InfoNceLoss{.temperature = 0}.forward(queries, keys); }),
            "ArgumentError: InfoNceLoss: the temperature must be positive, got 0");
}

TEST(GramMatrixLoss, ComparesHowChannelsGoTogether) {
  const auto x = sines_of<4>({2, 3, 2, 2}), y = sines_of<4>({2, 3, 2, 2}, 0.6, 1);
  double sum = 0;
  const auto gram = [](const Tensor<4>& z, std::int64_t b, std::int64_t i, std::int64_t j) {
    const auto pixels = [&](std::int64_t c) { return z.at(0, b).at(0, c).flatten().to_vector<double>(); };
    return dot(pixels(i), pixels(j)) / 12;
  };
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t i = 0; i < 3; ++i)
      for (std::int64_t j = 0; j < 3; ++j) sum += std::pow(gram(x, b, i, j) - gram(y, b, i, j), 2);
  EXPECT_NEAR(nn::GramMatrixLoss{}.forward(x, y).item(), sum / 18, 1e-7);
}

TEST(Losses, OfSequences) {
  // Two frames and one label: blank then label, label then blank, or the label twice.
  const auto scores = Tensor<3>::of({{{0.1, 0.7, -0.2}}, {{0.4, -0.3, 0.2}}}, cpu).log_softmax(2);
  const auto p = [&](int t, int c) {
    return std::exp(scores.to_vector<double>()[static_cast<std::size_t>(3 * t + c)]);
  };
  const auto one = Tensor<1, Int>::of({1}, cpu), two = Tensor<1, Int>::of({2}, cpu);
  const auto label = Tensor<2, Int>::of({{1}}, cpu);
  const double ctc = -std::log(p(0, 0) * p(1, 1) + p(0, 1) * p(1, 0) + p(0, 1) * p(1, 1));
  EXPECT_NEAR(nn::CtcLoss{}.forward(scores, label, two, one).item(), ctc, 1e-5);
  EXPECT_NEAR(nn::CtcLoss{}.forward_each(scores, label, two, one).to_vector()[0], ctc, 1e-5);
  EXPECT_THROW(nn::CtcLoss{.reduction = Reduction::None}.forward(scores, label, two, one), ArgumentError);
  // One frame and one label: the label, then the blank.
  const auto logits = Tensor<4>::of({{{{0.1, 0.7}, {0.4, -0.3}}}}, cpu);
  const auto q = [&](int u, int c) {
    const auto z = logits.log_softmax(3).to_vector<double>();
    return z[static_cast<std::size_t>(2 * u + c)];
  };
  EXPECT_NEAR(nn::RnntLoss{}.forward(logits, label, one, one).item(), -(q(0, 1) + q(1, 0)), 1e-5);
  EXPECT_NEAR(nn::RnntLoss{}.forward_each(logits, label, one, one).to_vector()[0], -(q(0, 1) + q(1, 0)), 1e-5);
}

TEST(Losses, SayWhatIsWrong) {
  const auto x = numbers(0.9, 0.1);
  EXPECT_EQ(sentence_of([&] { return nn::HuberLoss{.reduction = Reduction::None}.forward(x, x); }),
            "ArgumentError: HuberLoss: forward() gives one number; with Reduction::None call forward_each()");
  EXPECT_EQ(sentence_of([&] { return nn::MseLoss{}.forward(x, x.narrow(0, 0, 1)); }),
            "ShapeError: mse_loss: [3, 4] and [1, 4] differ");
}

}  // namespace
}  // namespace kiln
