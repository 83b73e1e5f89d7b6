// Which tokens are left to be drawn, and how often each of them is, against what is said by hand.
#include "models/language/sampling.hpp"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/raised.hpp"

namespace kiln::models {
namespace {

using test::raised;
using testing::HasSubstr;

constexpr float kNone = -std::numeric_limits<float>::infinity();

Tensor<2> rows(std::initializer_list<std::initializer_list<double>> numbers) {
  std::vector<float> all;
  for (const auto& row : numbers)
    for (const double number : row) all.push_back(static_cast<float>(number));
  const auto count = static_cast<std::int64_t>(numbers.size());
  return Tensor<2>::of(all, {count, static_cast<std::int64_t>(all.size()) / count}, Device::cpu());
}

TEST(Sampling, KeepsTheLargestOfEachRow) {
  const Tensor<2> logits = rows({{1, 5, 3, 2}, {4, 0, -1, 9}});
  EXPECT_EQ(keep_top_k(logits, 2).to_vector(), (std::vector<float>{kNone, 5, 3, kNone, 4, kNone, kNone, 9}));
  EXPECT_EQ(keep_top_k(logits, 1).to_vector(), (std::vector<float>{kNone, 5, kNone, kNone, kNone, kNone, kNone, 9}));
  EXPECT_EQ(keep_top_k(logits, 9).to_vector(), logits.to_vector());
  EXPECT_EQ(keep_top_k(rows({{2, 1, 2, 2}}), 2).to_vector(), (std::vector<float>{2, kNone, 2, 2})) << "equal ones stay";
}

TEST(Sampling, KeepsTheLikeliestThatMakeUpAShare) {
  const double a = std::log(0.5), b = std::log(0.25), c = std::log(0.15), d = std::log(0.1);
  const Tensor<2> logits = rows({{c, a, d, b}});
  const auto kept = [&](double p) {
    std::vector<bool> is;
    for (const float x : keep_top_p(logits, p).to_vector()) is.push_back(x != kNone);
    return is;
  };
  EXPECT_EQ(kept(0.01), (std::vector<bool>{false, true, false, false})) << "one is always kept";
  EXPECT_EQ(kept(0.45), (std::vector<bool>{false, true, false, false}));
  EXPECT_EQ(kept(0.55), (std::vector<bool>{false, true, false, true}));
  EXPECT_EQ(kept(0.8), (std::vector<bool>{true, true, false, true}));
  EXPECT_EQ(kept(0.95), (std::vector<bool>{true, true, true, true}));
  EXPECT_EQ(keep_top_p(rows({{0, 3, 0}, {9, 0, 0}}), 0.5).to_vector(),
            (std::vector<float>{kNone, 3, kNone, 9, kNone, kNone}));
}

/// The shares in which tokens are drawn.
std::vector<double> shares(std::initializer_list<double> probabilities, const Sampling& sampling) {
  constexpr std::int64_t kDraws = 20'000;
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p)) + 3);
  const auto count = static_cast<std::int64_t>(logits.size());
  const Tensor<2> all(expand(Tensor<2>::of(logits, {1, count}, Device::cpu()).value(), {kDraws, count}));
  std::vector<double> result(logits.size());
  for (const std::int64_t token : sample(all, sampling, Key{5}).to_vector())
    result[static_cast<std::size_t>(token)] += 1.0 / kDraws;
  return result;
}

TEST(Sampling, DrawsAsOftenAsTheFormulaSays) {
  const auto expect = [](const std::vector<double>& actual, const std::vector<double>& expected) {
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 0.015) << i;  // over 4 sigma
  };
  expect(shares({0.5, 0.3, 0.2}, {}), {0.5, 0.3, 0.2});
  // p^(1 / temperature), normalised
  expect(shares({0.5, 0.3, 0.2}, {.temperature = 0.5}), {0.25 / 0.38, 0.09 / 0.38, 0.04 / 0.38});
  expect(shares({0.5, 0.3, 0.2}, {.top_k = 2}), {0.5 / 0.8, 0.3 / 0.8, 0});
  expect(shares({0.5, 0.3, 0.2}, {.top_p = 0.6}), {0.5 / 0.8, 0.3 / 0.8, 0});
  // Of the two that top_k leaves, 0.5 / 0.8 = 0.625 is enough.
  expect(shares({0.5, 0.3, 0.2}, {.top_k = 2, .top_p = 0.6}), {1, 0, 0});
  // The temperature comes first: 0.25, 0.09, 0.04 of 0.38 are 0.66, ...
  expect(shares({0.5, 0.3, 0.2}, {.temperature = 0.5, .top_p = 0.65}), {1, 0, 0});
  expect(shares({0.2, 0.5, 0.3}, {.temperature = 0}), {0, 1, 0});
}

TEST(Sampling, DependsOnTheKeyAlone) {
  const Tensor<2> logits = Tensor<2>::zeros({50, 100}, Device::cpu());
  const auto draw = [&](std::uint64_t key) { return sample(logits, {}, Key{key}).to_vector(); };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
}

TEST(Sampling, RefusesNumbersOutOfRange) {
  const Tensor<2> logits = Tensor<2>::zeros({1, 3}, Device::cpu());
  const auto refusal = [&](const Sampling& how) { return raised<ArgumentError>([&] { sample(logits, how); }); };
  EXPECT_EQ(refusal({.temperature = -1}), "Sampling: the temperature must be 0 or more, got -1");
  EXPECT_THAT(refusal({.temperature = std::nan("")}), HasSubstr("temperature"));
  EXPECT_EQ(refusal({.top_k = -2}), "Sampling: top_k must be 0 or more, got -2");
  EXPECT_EQ(refusal({.top_p = 0}), "Sampling: top_p must be above 0 and at most 1, got 0");
  EXPECT_THAT(refusal({.top_p = 1.5}), HasSubstr("got 1.5"));
  EXPECT_THAT(raised<ArgumentError>([&] { keep_top_k(logits, 0); }), HasSubstr("k must be positive"));
}

}  // namespace
}  // namespace kiln::models
