// Checkpointing keeps less and gives the same gradients. What is right comes from the graph that keeps everything,
// whose gradients other tests hold against finite differences, and from closed forms.
#include "kiln/autodiff/checkpoint.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "kiln/autodiff/backward.hpp"
#include "kiln/ops/op.hpp"
#include "kiln/ops/scope/autocast.hpp"
#include "kiln/ops/scope/no_grad.hpp"

#include "tests/support/devices.hpp"
#include "tests/support/forwarding.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

/// Notes how often each op runs, and how many bytes are in use at most after any of them: to be asked of the reference,
/// which runs each at once, in its results alone.
class Meter final : public test::Forwarding {
 public:
  using Forwarding::Forwarding;
  std::string name() const override { return "meter"; }
  void run(const op::Op& op, Call call) override {
    inner_->run(op, call);
    ++runs_[std::string(op::function_name(op))];
    most_ = std::max(most_, inner_->memory().in_use);
  }

  void reset() {
    runs_.clear();
    most_ = before_ = inner_->memory().in_use;
  }
  std::int64_t most() const { return most_ - before_; }
  int runs(const std::string& op) const { return runs_.contains(op) ? runs_.at(op) : 0; }

 private:
  std::map<std::string, int> runs_;
  std::int64_t most_ = 0, before_ = 0;
};

struct Metered {
  explicit Metered(const char* inner = "reference") : meter(make_ref<Meter>(Device::parse(inner).handle())) {}
  Ref<Meter> meter;
  Device device{meter, true};
};

using test::autodiff;

Value random_leaf(const Shape& shape, std::uint64_t seed, const Device& device = autodiff) {
  return normal(shape, 0, 0.3, device, DType::F32, Key{seed}).require_grad();
}

struct Layer {
  Value weight, bias, scale, shift;

  Layer(std::int64_t width, std::uint64_t seed, const Device& device)
      : weight(random_leaf({width, width}, seed, device)),
        bias(random_leaf({width}, seed + 1, device)),
        scale(random_leaf({width}, seed + 2, device)),
        shift(random_leaf({width}, seed + 3, device)) {}

  Value forward(const Value& x) const {
    const Value normed = layer_norm(x, scale, shift);
    return x + dropout(gelu(matmul(normed, weight) + bias), 0.25);
  }
};

using Step = std::function<Value(const Layer&, const Value&)>;

/// The gradients of x and of all parameters of a chain of layers, and a number drawn afterwards.
Values gradients(const Device& device, const Step& run, std::int64_t layers = 6, std::int64_t width = 24) {
  device.seed(5);
  const Value x = random_leaf({10, width}, 1, device);
  std::vector<Layer> chain;
  for (std::int64_t i = 0; i < layers; ++i) chain.emplace_back(width, static_cast<std::uint64_t>(10 * i + 10), device);
  Value y = x;
  for (const Layer& layer : chain) y = run(layer, y);
  const Gradients found = backward(sum(square(y)));
  Values result{found.of(x)};
  for (const Layer& layer : chain)
    for (const Value& leaf : {layer.weight, layer.bias, layer.scale, layer.shift}) result.push_back(found.of(leaf));
  result.push_back(uniform({4}, 0, 1, device));
  return result;
}

void expect_same_bits(const Values& a, const Values& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const TensorData x = a[i].data(), y = b[i].data();
    EXPECT_TRUE(std::ranges::equal(x.bytes(), y.bytes())) << "value " << i;
  }
}

Value plain(const Layer& layer, const Value& x) { return layer.forward(x); }
Value again(const Layer& layer, const Value& x) {
  return checkpoint([layer](const Value& x) { return layer.forward(x); }, x);
}
Value twice(const Layer& layer, const Value& x) {
  return checkpoint(
      [layer](const Value& x) {
        const Value y = dropout(x, 0.1);
        return checkpoint([layer](const Value& x) { return layer.forward(x); }, y) * 0.5 + dropout(x, 0.1);
      },
      x);
}
Value twice_plain(const Layer& layer, const Value& x) {
  const Value y = dropout(x, 0.1);
  return layer.forward(y) * 0.5 + dropout(x, 0.1);
}

TEST(Checkpoint, GivesTheSameBitsAndTheSameRandomNumbersLater) {
  expect_same_bits(gradients(autodiff, again), gradients(autodiff, plain));
}

TEST(Checkpoint, Nests) { expect_same_bits(gradients(autodiff, twice), gradients(autodiff, twice_plain)); }

TEST(Checkpoint, TakesAllOfAModelAtOnce) {
  const auto chain = [](bool checkpointed) {
    autodiff.seed(3);
    const Value x = random_leaf({10, 8}, 1);
    const Layer first(8, 20, autodiff), second(8, 30, autodiff);
    const auto function = [=](const Value& x) { return second.forward(first.forward(x)); };
    const Value y = checkpointed ? checkpoint(function, x) : function(x);
    const Gradients found = backward(sum(y * x));  // x is read inside and outside
    return Values{y, found.of(x), found.of(first.weight), found.of(second.bias)};
  };
  expect_same_bits(chain(true), chain(false));
}

TEST(Checkpoint, TracksWhatAGradientFlowsThroughAndNothingElse) {
  const Value x = ones({2}, autodiff), w = random_leaf({2}, 1);
  const auto square_of = [](const Value& x) { return square(x); };
  EXPECT_FALSE(checkpoint(square_of, x).tracked());
  EXPECT_TRUE(checkpoint(square_of, w).tracked());
  EXPECT_TRUE(checkpoint([w](const Value& x) { return x * w; }, x).tracked());  // captured, not passed
  EXPECT_TRUE(checkpoint([](const Value& w) { return w; }, w).tape() == w.tape());
  const NoGrad pause;
  EXPECT_FALSE(checkpoint(square_of, w).tracked());
}

TEST(Checkpoint, GivesSeveralResultsWhoseGradientsMeet) {
  const Value x = random_leaf({5}, 1);
  const Values parts = checkpoint([](const Value& x) { return Values{sin(x), argmax(x), cos(x)}; }, x);
  EXPECT_FALSE(parts[1].tracked());
  const std::vector<double> at = x.data().to_vector<double>(),
                            slope = backward(parts[0] * 2.0 + parts[2]).of(x).data().to_vector<double>();
  for (std::size_t i = 0; i < at.size(); ++i) EXPECT_NEAR(slope[i], 2 * std::cos(at[i]) - std::sin(at[i]), 1e-6);
  EXPECT_EQ(backward(parts[2]).of(x).shape(), (Shape{5}));  // of one alone
}

TEST(Checkpoint, HasGradientsOfGradients) {
  const Value x = from_data(TensorData::of<double>({3}, {0.3, -1.2, 0.8}), autodiff).require_grad();
  const Value y = checkpoint([](const Value& x) { return x * sin(x) * square(x); }, x);  // x^3 sin x
  const Values first = grad(sum(y), {&x, 1}, {.create_graph = true});
  const Values second = grad(sum(first[0]), {&x, 1}, {.create_graph = true});
  const Values third = grad(sum(second[0]), {&x, 1});
  for (std::size_t i = 0; i < 3; ++i) {
    const double a = x.data().to_vector<double>()[i], s = std::sin(a), c = std::cos(a);
    EXPECT_NEAR(first[0].data().to_vector<double>()[i], 3 * a * a * s + a * a * a * c, 1e-12);
    EXPECT_NEAR(second[0].data().to_vector<double>()[i], 6 * a * s + 6 * a * a * c - a * a * a * s, 1e-12);
    EXPECT_NEAR(third[0].data().to_vector<double>()[i], 6 * s + 18 * a * c - 9 * a * a * s - a * a * a * c, 1e-12);
  }
}

TEST(Checkpoint, StopsAtWhatAGradientIsTakenBy) {
  const Value x = random_leaf({4}, 1), middle = square(x);
  const Value y = checkpoint([](const Value& m) { return exp(m); }, middle);
  expect_same_bits(grad(sum(y), {&middle, 1}), {exp(middle)});
}

TEST(Checkpoint, RunsAgainInTheAutocastThatItRanIn) {
  const Value x = random_leaf({4, 8}, 1), w = random_leaf({8, 3}, 2);
  const auto product = [w](const Value& x) { return matmul(x, w); };
  const auto slopes = [&](bool checkpointed) {
    const auto y = [&] {
      const Autocast half(DType::BF16);
      return checkpointed ? checkpoint(product, x) : product(x);
    }();
    EXPECT_EQ(y.dtype(), DType::BF16);
    const Gradients found = backward(sum(cast(y, DType::F32)));
    return Values{found.of(x), found.of(w)};
  };
  expect_same_bits(slopes(true), slopes(false));
}

TEST(Checkpoint, SaysWhereTheFunctionDoesNotDoTheSameAgain) {
  const Value x = random_leaf({4}, 1);
  int calls = 0;
  const Value shorter = checkpoint([&calls](const Value& x) { return narrow(x * 2.0, 0, 0, 4 - calls++); }, x);
  EXPECT_EQ(sentence_of([&] { backward(shorter); }),
            "AutodiffError: checkpoint: run again, the function gives other results or draws fewer random numbers than "
            "when it ran first; it must do the same each time");
  calls = 0;
  const auto draws = [&calls](int first, int second) {
    return [&calls, first, second](const Value& x) {
      Value y = x * 2.0;
      for (int i = calls++ ? second : first; i > 0; --i) y = dropout(y, 0.5);
      return y;
    };
  };
  const Value more = checkpoint(draws(1, 2), x);
  EXPECT_EQ(sentence_of([&] { backward(more); }),
            "AutodiffError: checkpoint: the function draws more random numbers than when it ran first; it must do the "
            "same each time");
  calls = 0;
  const Value fewer = checkpoint(draws(2, 1), x);
  EXPECT_TRUE(sentence_of([&] { backward(fewer); }).ends_with("it must do the same each time"));
}

TEST(Checkpoint, HoldsTheInputsOfLayersAndOneLayersInsides) {
  const Metered metered;
  const auto most = [&](const Step& run) {
    metered.meter->reset();
    gradients(metered.device, run, 24, 512);
    return metered.meter->most();
  };
  const std::int64_t weights = 24 * 512 * 512 * 4 * 2;  // and their gradients
  const std::int64_t kept = most(plain) - weights, dropped = most(again) - weights;
  EXPECT_GT(kept, 0);
  // Plain keeps x, normed and what gelu reads; the sums of norms, products and drops pass. Again keeps x.
  EXPECT_LT(dropped * 2, kept) << dropped << " bytes, without checkpoints " << kept;
}

// ---- Checkpointing::Balanced ----------------------------------------------------------------------------------------

TEST(Balanced, GivesTheSameBitsAndTheSameRandomNumbersLater) {
  const auto balanced = [](const Step& run) {
    const Checkpointing scope(Checkpointing::Balanced);
    return gradients(autodiff, run);
  };
  expect_same_bits(balanced(plain), gradients(autodiff, plain));
  expect_same_bits(balanced(again), gradients(autodiff, plain));
  expect_same_bits(balanced(twice), gradients(autodiff, twice_plain));
}

TEST(Balanced, RunsMemoryBoundOperationsAgainAndProductsOnce) {
  const Metered metered("cpu");
  const auto count = [&](Checkpointing::Strategy strategy) {
    const Checkpointing scope(strategy);
    metered.meter->reset();
    gradients(metered.device, plain);
    return std::pair(metered.meter->runs("layer_norm"), metered.meter->runs("matmul"));
  };
  const auto none = count(Checkpointing::None), balanced = count(Checkpointing::Balanced);
  EXPECT_EQ(none, std::pair(6, 18));
  EXPECT_EQ(balanced, std::pair(12, 18));
}

/// Wide rows, so that weights do not matter: what is kept for `layers` norms, products and activations.
std::int64_t most_of(const Metered& metered, Checkpointing::Strategy strategy) {
  const Checkpointing scope(strategy);
  const Value w = random_leaf({16, 16}, 2, metered.device), ones = random_leaf({16}, 3, metered.device);
  metered.meter->reset();
  Value y = random_leaf({4096, 16}, 1, metered.device);
  for (int i = 0; i < 24; ++i) y = matmul(gelu(layer_norm(y, ones, ones)), w);
  backward(sum(y));
  return metered.meter->most();
}

TEST(Balanced, HoldsLess) {
  const Metered metered;
  const std::int64_t none = most_of(metered, Checkpointing::None), balanced = most_of(metered, Checkpointing::Balanced);
  EXPECT_LT(balanced * 2, none);  // one of three tensors in each layer, and a few under way
}

TEST(Balanced, RunsNothingAgainWhereThatWouldHoldMore) {
  // Of a sum of two tensors one tensor is kept, as ever.
  const Metered metered;
  const auto most = [&](Checkpointing::Strategy strategy) {
    const Checkpointing scope(strategy);
    const Value x = random_leaf({1 << 16}, 1, metered.device);
    metered.meter->reset();
    Values kept;
    for (int i = 0; i < 8; ++i) kept.push_back(square(x * 1.0 + sin(x * 2.0)));
    return metered.meter->most();
  };
  EXPECT_LE(most(Checkpointing::Balanced), most(Checkpointing::None));
}

TEST(Balanced, IsForLongChainsToo) {
  const auto slope = [](Checkpointing::Strategy strategy) {
    const Checkpointing scope(strategy);
    const Value x = random_leaf({8}, 1);
    Value y = x;
    for (int i = 0; i < 20000; ++i) y = tanh(y) * 1.01;
    return backward(y).of(x);
  };
  expect_same_bits({slope(Checkpointing::Balanced)}, {slope(Checkpointing::None)});
}

TEST(Balanced, HasGradientsOfGradients) {
  const Checkpointing scope(Checkpointing::Balanced);
  const Value x = from_data(TensorData::of<double>({2}, {0.3, -1.2}), autodiff).require_grad();
  const Values first = grad(sum(exp(sin(x))), {&x, 1}, {.create_graph = true});
  const Values second = grad(sum(first[0]), {&x, 1});
  for (std::size_t i = 0; i < 2; ++i) {
    const double a = x.data().to_vector<double>()[i], s = std::sin(a), c = std::cos(a);
    EXPECT_NEAR(second[0].data().to_vector<double>()[i], std::exp(s) * (c * c - s), 1e-12);
  }
}

}  // namespace
}  // namespace kiln
