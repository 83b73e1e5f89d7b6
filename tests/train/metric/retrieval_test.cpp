// Metrics of searches against scikit-learn, and of episodes against sums by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "kiln/train/metric/episode.hpp"
#include "kiln/train/metric/regression.hpp"
#include "kiln/train/metric/retrieval.hpp"
#include "kiln/train/metric_set.hpp"
#include "tests/support/sentence.hpp"
#include "tests/train/metric/metric_data.hpp"

namespace kiln {
namespace {

TEST(Metrics, OfSearchesAreScikitLearns) {
  constexpr std::int64_t kQueries = 7, kFound = 9;
  const Shape shape = {kQueries, kFound};
  const auto scores = map_each(noise(60, 63), [](double x, std::size_t) { return std::floor(x * 16) / 16; });
  const auto gains =
      map_each(noise(61, 63), [](double x, std::size_t i) { return i / kFound == 3 ? 0 : std::floor(x * 4); });
  const auto update = [&](metric::Ndcg& m, std::int64_t begin, std::int64_t end) {
    m.update(rows<2>(scores, shape, begin, end), rows<2>(gains, shape, begin, end));
  };
  expect_metric(value_of("Ndcg"), metric::Ndcg{}, kQueries, update);
  expect_metric(value_of("Ndcg4"), metric::Ndcg{.k = 4}, kQueries, update);
  const auto right = map_each(gains, [](double x, std::size_t) { return x > 2; });
  expect_metric(value_of("ReciprocalRank"), metric::ReciprocalRank{}, kQueries,
                [&](metric::ReciprocalRank& m, std::int64_t begin, std::int64_t end) {
                  m.update(rows<2>(scores, shape, begin, end), int_rows<2>(right, shape, begin, end));
                });

  const auto of = [&](std::initializer_list<float> numbers) {
    return Tensor<2>::of(std::vector<float>(numbers), {1, static_cast<std::int64_t>(numbers.size())}, Device::cpu());
  };
  metric::Ndcg ndcg;
  EXPECT_EQ(sentence_of([&] { return ndcg.value(); }), "ArgumentError: ndcg: nothing was measured");
  EXPECT_EQ(sentence_of([&] { return ndcg.update(of({1, 2}), of({1})), 0; }),
            "ShapeError: ndcg: scores [1, 2] and relevances [1, 1] differ");
  EXPECT_EQ(sentence_of([&] { return ndcg.update(of({1, 2}), of({1, -1})), 0; }),
            "DataError: ndcg: something is worth -1");
  EXPECT_EQ(sentence_of([&] { return ndcg.update(of({1, NAN}), of({1, 1})), 0; }),
            "DataError: ndcg: a score is not a number");
  metric::Ndcg none{.k = 0};
  EXPECT_EQ(sentence_of([&] { return none.update(of({1}), of({1})), 0; }),
            "ArgumentError: ndcg: k is 0, it must be at least 1");
}

struct Played {
  Tensor<2> rewards;  // [steps, environments]
  Tensor<2, Bool> ended, at_random;
};

TEST(Metrics, OfEpisodesAreThoseThatHaveEnded) {
  // Of two environments: 1 + 2 + 4 and 32; 10 + 20 + 40 + 50 goes on.
  const std::vector<float> rewards = {1, 10, 2, 20, 4, 40, 32, 50};
  const std::vector<float> ends = {0, 0, 0, 0, 1, 0, 1, 0};
  const auto played = [&](std::size_t begin, std::size_t end) {
    const Shape shape = {static_cast<std::int64_t>(end - begin) / 2, 2};
    const auto part = [&](const std::vector<float>& all) {
      return Tensor<2>::of(std::vector<float>(all.begin() + static_cast<std::ptrdiff_t>(begin),
                                              all.begin() + static_cast<std::ptrdiff_t>(end)),
                           shape, Device::cpu());
    };
    return Played{part(rewards), part(ends).to_bool(), part(ends).to_bool()};
  };
  for (const std::size_t cut : {0, 2, 4, 6, 8}) {
    metric::CumulativeReward reward;
    metric::EpisodeLength length;
    metric::ExplorationRate exploration;
    for (const Played& part : {played(0, cut), played(cut, 8)}) {
      metric::feed(reward, part);
      metric::feed(length, part);
      metric::feed(exploration, part);
    }
    EXPECT_EQ(reward.value(), (7.0 + 32) / 2);
    EXPECT_EQ(length.value(), (3.0 + 1) / 2);
    EXPECT_EQ(exploration.value(), 2.0 / 8);
    EXPECT_EQ(reward.open.sums, (std::vector<double>{0, 120}));
    // An epoch ends, an episode does not.
    reward = metric::fresh(reward);
    EXPECT_EQ(sentence_of([&] { return reward.value(); }), "ArgumentError: cumulative reward: nothing was measured");
    const auto yes = Tensor<1>::of({1.0f, 1.0f}, Device::cpu());
    reward.update(yes, yes.to_bool());
    EXPECT_EQ(reward.value(), (1.0 + 121) / 2);
    EXPECT_EQ(sentence_of([&] { return reward.update(yes.unsqueeze(1), yes.unsqueeze(1).to_bool()), 0; }),
              "ShapeError: cumulative reward: 1 environments after 2");
  }
}

TEST(Metrics, OfSequencesCountTokens) {
  const auto output = [](double loss, std::int64_t tokens) {
    return SequenceOutput{Tensor<0>::full({}, loss, Device::cpu()), {}, {}, tokens};
  };
  MetricSet<SequenceOutput> metrics;
  metrics.add(metric::Perplexity{}, "perplexity", metric::feed<metric::Perplexity, SequenceOutput>);
  metrics.update(output(std::log(2.0), 3), std::log(2.0));
  metrics.update(output(std::log(32.0), 1), std::log(32.0));
  const auto readings = metrics.readings();
  EXPECT_NEAR(readings[0].value, 2 * std::log(2.0), 1e-6);  // the loss, as of items
  EXPECT_NEAR(readings[1].value, 4, 1e-5);
}

}  // namespace
}  // namespace kiln
