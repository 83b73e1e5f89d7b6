// Gradients that ranks combine while they compute the rest: the same bits as afterwards, by the same calls on all ranks
// whatever takes part on each.
#include "kiln/train/ranks/buckets.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kiln/collective/thread_ranks.hpp"
#include "kiln/nn/loss/of_classes.hpp"
#include "kiln/ops/collective/collective.hpp"
#include "kiln/ops/custom.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/train/ranks/team.hpp"
#include "tests/support/sentence.hpp"
#include "tests/train/together.hpp"

namespace kiln::test {
namespace {

using training::Buckets;
using training::Team;

/// A rank that notes what it comes to.
class Noting final : public Communicator {
 public:
  explicit Noting(Ranks inner) : Communicator(inner->rank(), inner->size()), inner_(std::move(inner)) {}
  void exchange(std::string_view what, const Pieces& pieces, const Places& places) override {
    notes.emplace_back(what);
    inner_->exchange(what, pieces, places);
  }
  void leave(std::string_view reason) override { inner_->leave(reason); }
  std::vector<std::string> notes;

 private:
  const Ranks inner_;
};

/// x, and notes when its gradient is made.
struct Noted final : CustomOp {
  explicit Noted(std::vector<std::string>& notes) : notes(notes) {}
  std::string name() const override { return "noted"; }
  Descs infer(Inputs in) const override { return {in[0].node()->desc}; }
  Values expand(Inputs in) const override { return {in[0] * 1.0}; }
  bool has_vjp() const override { return true; }
  Values vjp(Inputs, Inputs, Inputs grad) const override {
    notes.emplace_back("the middle");
    return {grad[0]};
  }
  std::vector<std::string>& notes;
};

struct Three {
  nn::Linear first, second, third;
};

Three three(const Device& device) {
  device.seed(1);
  const auto linear = nn::LinearConfig{.in = 4, .out = 4};
  return {linear.init(device), linear.init(device), linear.init(device)};
}

Tensor<2> data(const Ranks& ranks, const Device& device) {
  return Tensor<2>(Typed{normal({3, 4}, 0, 1, device.inner(), DType::F32, Key{std::uint64_t(ranks->rank()) + 9})});
}

using Numbers = std::map<std::string, std::vector<float>>;
Numbers numbers_of(const GradientsParams& grads) {
  Numbers all;
  for (const auto& [path, grad] : grads.by_path) all[path] = grad.data().to_vector<float>();
  return all;
}

TEST(Buckets, StartWhileGradientsAreComputed) {
  const Limit limit(1);  // each parameter by itself
  on_each(processors(2), [](const Ranks& ranks, const Device& device) {
    const auto noting = std::make_shared<Noting>(ranks);
    const Three model = three(device);
    const Tensor<2> x = data(ranks, device);
    Team(noting).value_and_grad(model, 3, [&](const Three& m) {
      const Value middle = m.second.forward(m.first.forward(x).tanh()).value();
      const auto noted = Tensor<2>(Typed{custom(make_ref<Noted>(noting->notes), {&middle, 1})[0]});
      return m.third.forward(noted.tanh()).square().mean();
    });
    // The last layer's are on their way before the others are known; each goes in two exchanges.
    const std::vector<std::string> expected{"training: items",
                                            "all_reduce (mean) of float32 [4]",
                                            "all_reduce (mean) of float32 [4]",
                                            "all_reduce (mean) of float32 [16]",
                                            "all_reduce (mean) of float32 [16]",
                                            "the middle"};
    std::vector<std::string> begin(noting->notes.begin(),
                                   noting->notes.begin() + std::min<std::ptrdiff_t>(6, std::ssize(noting->notes)));
    EXPECT_EQ(begin, expected);
    EXPECT_EQ(noting->notes.size(), 1 + 12 + 1 + 2u);
  });
}

TEST(Buckets, GiveTheBitsOfReducingAfterwards) {
  for (const int count : {2, 3})
    for (const std::int64_t bytes : {1, 100, 0}) {
      const Limit limit(bytes);
      on_each(processors(count), [](const Ranks& ranks, const Device& device) {
        const Three model = three(device);
        const Tensor<2> x = data(ranks, device);
        const auto loss = [&](const Three& m) {
          return m.first.forward(m.third.forward(m.second.forward(m.first.forward(x).tanh()).tanh())).square().mean();
        };
        const Team team(ranks);
        const auto within = team.value_and_grad(model, 3, loss);
        const auto own = value_and_grad(model, loss);
        EXPECT_EQ(within.loss.item(), own.loss.item());
        EXPECT_EQ(numbers_of(within.grads), numbers_of(team.mean(own.grads, 3, model)));
      });
    }
}

TEST(Buckets, CountARankByItsItems) {
  on_each(processors(2), [](const Ranks& ranks, const Device& device) {
    Three model = three(device);
    const Tensor<2> both =
        Tensor<2>::of(std::vector<float>{1, 2, 3, 4, 4, 3, 2, 1, 0, 1, 0, 1}, {3, 4}, device.inner());
    const auto loss_of = [](const Tensor<2>& x) {
      return [x](const Three& m) { return m.second.forward(m.first.forward(x).tanh()).square().mean(); };
    };
    const auto expected = numbers_of(value_and_grad(model, loss_of(both)).grads);
    const Tensor<2> own = ranks->rank() ? both.narrow(0, 2, 1) : both.narrow(0, 0, 2);
    const auto found = numbers_of(Team(ranks).value_and_grad(model, ranks->rank() ? 1 : 2, loss_of(own)).grads);
    ASSERT_EQ(found.size(), 4u);  // the third layer took part nowhere
    for (const auto& [path, numbers] : found)
      for (std::size_t i = 0; i < numbers.size(); ++i) EXPECT_NEAR(numbers[i], expected.at(path)[i], 1e-6) << path;
  });
}

// One layer is used on one rank alone, another early on one and late on the other, while ranks also meet in between.
TEST(Buckets, MeetWhereRanksDifferInWhatTakesPart) {
  for (const bool meets_within : {false, true})
    for (const std::int64_t bytes : {1, 100, 0}) {
      const Limit limit(bytes);
      std::vector<Numbers> all(2);
      on_each(processors(2),
              [&](const Ranks& ranks, const Device& device) {
                const Three model = three(device);
                const Tensor<2> x = data(ranks, device);
                const auto loss = [&](const Three& m) {
                  Tensor<2> y = m.second.forward(x);
                  if (ranks->rank()) y = m.third.forward(y).tanh();
                  if (meets_within) y = Tensor<2>(Typed{all_reduce(y.value(), ranks, Combine::Mean)});
                  return (ranks->rank() ? y : m.third.forward(m.first.forward(y))).square().mean();
                };
                const Team team(ranks);
                const auto found = numbers_of(team.value_and_grad(model, 3, loss).grads);
                EXPECT_EQ(found, numbers_of(team.mean(value_and_grad(model, loss).grads, 3, model)));
                EXPECT_EQ(found.size(), 6u);
                all[std::size_t(ranks->rank())] = found;
              },
              {.timeout = 60});
      EXPECT_EQ(all[0], all[1]);
    }
}

struct Halves {
  nn::Param<1> weight, bias;
};

TEST(Buckets, KeepElementTypesOrWidenThem) {
  on_each(processors(2), [](const Ranks& ranks, const Device& device) {
    const auto half = [&](double number) { return full({4}, number, device, DType::BF16); };
    const Halves model{nn::Param<1>(Tensor<1>(Typed{half(1)})), nn::Param<1>(Tensor<1>(Typed{half(2)}))};
    const GradientsParams grads = {{{"bias", half(1.0 + ranks->rank())}}};
    for (const auto halves : {Buckets::Halves::AsTheyAre, Buckets::Halves::InFloat32}) {
      const GradientsParams sum = Team(ranks).combined(grads, Combine::Sum, model, halves);
      ASSERT_EQ(sum.by_path.size(), 1u);
      const Value& bias = *sum.find("bias");
      EXPECT_EQ(bias.dtype(), halves == Buckets::Halves::AsTheyAre ? DType::BF16 : DType::F32);
      EXPECT_EQ(cast(bias, DType::F32).data().to_vector<float>(), std::vector<float>(4, 3));
    }
  });
}

// Only the last batch of a step makes ranks meet for gradients.
TEST(Buckets, TravelOnceAStep) {
  const Limit limit(1);
  for (const std::int64_t accumulate : {1, 3}) {
    Together options{.items = 72};
    options.config = {.epochs = 1, .accumulate = accumulate, .seed = 7};
    on_each(processors(2), [&](const Ranks& ranks, const Device& device) {
      const auto noting = std::make_shared<Noting>(ranks);
      Three model = three(device);
      const auto step = [&](const Three& m, const Examples& batch) {
        const auto count = static_cast<std::int64_t>(batch.y.size());
        const auto x = Tensor<2>::of(batch.x, {count / 2, 4}, device.inner());
        return m.second.forward(m.first.forward(x).tanh()).square().mean();
      };
      Learner learner(model, SgdConfig{}.init(model), step, options.config, noting);
      auto train = examples(options, ranks, true);
      EXPECT_EQ(learner.rate(0.1).fit(train).at.step, 6 / accumulate);
      const auto sent = std::ranges::count_if(noting->notes, [&](const std::string& what) {
        return what.starts_with(accumulate == 1 ? "all_reduce (mean)" : "all_reduce (sum)");
      });
      EXPECT_EQ(sent, 6 / accumulate * 6 * 2);  // of six parameters, in two exchanges
    });
  }
}

TEST(Buckets, TrainAsOneDoesWhateverTheirSize) {
  for (const std::int64_t accumulate : {1, 2})
    for (const std::int64_t bytes : {1, 24}) {
      const Limit limit(bytes);
      Together options{.items = 37};  // of which the ranks have unequal parts
      options.config.accumulate = accumulate;
      const auto train = [&](const Ranks& ranks, const Device& device) {
        Three model = three(device);
        const auto step = [&](const Three& m, const Examples& batch) -> RegressionOutput {
          const auto count = static_cast<std::int64_t>(batch.y.size());
          std::vector<float> twice;
          for (std::size_t i = 0; i < batch.x.size(); ++i) twice.insert(twice.end(), {batch.x[i], 1 - batch.x[i]});
          const auto x = Tensor<2>::of(twice, {count, 4}, device.inner());
          const auto y = Tensor<2>::of(batch.y, {count, 1}, device.inner());
          const auto predictions = m.third.forward(m.first.forward(x).tanh()).narrow(1, 0, 1);
          return {(predictions - y).square().mean(), predictions, y};
        };
        Learner learner(model, SgdConfig{}.init(model), step, options.config, ranks);
        auto data = examples(options, ranks, true);
        learner.rate(0.1).fit(data);
        return learner.model().first.weight.template to_vector<float>();
      };
      const auto one = train(alone(), processors(1)[0]);
      on_each(processors(4),
              [&](const Ranks& ranks, const Device& device) {
                const auto found = train(ranks, device);
                for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(found[i], one[i], 1e-6);
              },
              {.timeout = 60});
    }
}

TEST(Buckets, ARankThatFailsOnTheWayEndsTheOthers) {
  const Limit limit(1);
  std::string said;
  const auto run = [&](const Ranks& ranks, const Device& device) {
    const Three model = three(device);
    const Tensor<2> x = data(ranks, device);
    const auto differentiated = [&] {
      Buckets buckets(ranks, Combine::Sum, model, Buckets::Halves::AsTheyAre);
      nn::differentiate(
          model, [&] { return model.second.forward(model.first.forward(x)).square().mean().value(); },
          [&](const std::string& path, const Value& grad) {
            if (ranks->rank() && path == "first.weight") fail<DataError>("the disk is full");
            buckets.add(path, grad);
          });
      return buckets.finish().by_path.size();
    };
    if (ranks->rank()) differentiated();
    else said = sentence_of(differentiated);
  };
  EXPECT_THROW(on_each(processors(2), run, {.timeout = 60}), DataError);
  EXPECT_NE(said.find("the disk is full"), said.npos) << said;
}

// What turns out to be wrong with a rank's data, its gradients have with them.
TEST(Buckets, ARankWithWrongDataEndsTheOthers) {
  const Limit limit(1);
  std::string said;
  const auto run = [&](const Ranks& ranks, const Device& device) {
    const Three model = three(device);
    const Tensor<2> x = data(ranks, device);
    const auto targets = Tensor<1, Int>::of({0, 1, ranks->rank() ? 9 : 2}, device.inner());
    const auto trained = [&] {
      return numbers_of(Team(ranks)
                            .value_and_grad(model, 3,
                                            [&](const Three& m) {
                                              return nn::CrossEntropyLoss{}.forward(m.first.forward(x), targets);
                                            })
                            .grads)
          .size();
    };
    if (ranks->rank()) trained();
    else said = sentence_of(trained);
  };
  EXPECT_THROW(on_each(processors(2), run, {.timeout = 60}), IndexError);
  EXPECT_NE(said.find("rank 1 has left"), said.npos) << said;
}

}  // namespace
}  // namespace kiln::test
