// backward() that tells of gradients as soon as they are final: never before, and no later than can be known. What is right
// comes from backward() that tells at its end.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include "kiln/autodiff/backward.hpp"
#include "kiln/autodiff/checkpoint.hpp"
#include "kiln/ops/collective/collective.hpp"
#include "kiln/ops/custom.hpp"
#include "kiln/ops/op.hpp"
#include "kiln/ops/record.hpp"
#include "tests/autodiff/counted.hpp"
#include "tests/support/devices.hpp"

namespace kiln {
namespace {

using test::autodiff;
using test::Counted;

Value vector_leaf(std::initializer_list<double> values, const Device& device = autodiff) {
  return from_data(TensorData::of<double>({static_cast<std::int64_t>(values.size())}, values), device).require_grad();
}

std::vector<double> elements(const Value& value) { return value.data().to_vector<double>(); }

/// Differentiates, and compares what was told with what backward() gives; the names of leaves as they were told.
std::string told(
    const std::function<Value()>& loss, const std::map<std::string, Value>& leaves,
    const std::function<void(const std::string&)>& when = [](const std::string&) {}) {
  std::map<std::string, std::vector<double>> seen;
  std::string order;
  const Gradients gradients = backward(loss(), [&](Gradients::Entry& entry) {
    for (const auto& [name, leaf] : leaves) {
      if (leaf.tape() != entry.leaf) continue;
      EXPECT_TRUE(seen.emplace(name, elements(entry.grad)).second) << name;
      order += name;
      when(name);
    }
  });
  const Gradients expected = backward(loss());
  EXPECT_EQ(gradients.size(), expected.size());
  for (const auto& [name, leaf] : leaves) {
    EXPECT_EQ(seen.contains(name), expected.find(leaf).has_value()) << name;
    if (!seen.contains(name)) continue;
    EXPECT_EQ(seen[name], elements(expected.of(leaf))) << name;  // the same bits
    EXPECT_EQ(seen[name], elements(gradients.of(leaf))) << name;
  }
  return order;
}

TEST(Final, GradientsAreToldWhileEarlierOnesAreStillToCome) {
  const Counted counted;
  const Value a = vector_leaf({1, 2}, counted.device), b = vector_leaf({3, 4}, counted.device),
              c = vector_leaf({5, 6}, counted.device);
  std::map<std::string, int> runs;
  const auto loss = [&] { return sum(exp(exp(a) * b) * c); };
  const Value made = loss();
  counted.counter->all = 0;
  backward(made, [&](Gradients::Entry& entry) {
    runs[entry.leaf == a.tape() ? "a" : entry.leaf == b.tape() ? "b" : "c"] = counted.counter->all;
  });
  EXPECT_LT(runs["c"], runs["b"]);
  EXPECT_LT(runs["b"], runs["a"]);
  EXPECT_EQ(runs["a"], counted.counter->all);
  EXPECT_EQ(told(loss, {{"a", a}, {"b", b}, {"c", c}}), "cba");
}

TEST(Final, OneThatIsUsedEarlyAndLateIsToldWhenAllHasFlowedIn) {
  const Value tied = vector_leaf({0.1, 0.2}), between = vector_leaf({0.3, 0.4}), x = vector_leaf({0.5, 0.6});
  EXPECT_EQ(told([&] { return sum(tanh(tanh(x * tied) * between) * tied); }, {{"t", tied}, {"b", between}}), "bt");
  EXPECT_EQ(told([&] { return sum(tied * tied * between); }, {{"t", tied}, {"b", between}}), "bt");
  EXPECT_EQ(told([&] { return sum(tied); }, {{"t", tied}}), "t");
  EXPECT_EQ(told([&] { return tied; }, {{"t", tied}}), "t");
}

// A leaf that is made after what it is used with has a later place on the tape.
TEST(Final, AreThoseOfLeavesOfAnyAge) {
  const Value x = vector_leaf({1, 2});
  const Value y = exp(x);
  const Value young = vector_leaf({3, 4});
  const Value z = exp(y * young);
  const Value youngest = vector_leaf({5, 6});
  EXPECT_EQ(told([&] { return sum(z * youngest); }, {{"x", x}, {"y", young}, {"z", youngest}}), "zyx");
}

TEST(Final, LeavesThatTakeNoPartAreNotToldOf) {
  const Value x = vector_leaf({1, 2}), y = vector_leaf({3, 4}), unused = vector_leaf({5, 6});
  (void)(unused * x);
  EXPECT_EQ(told([&] { return sum(x * y); }, {{"x", x}, {"y", y}, {"u", unused}}).find('u'), std::string::npos);
}

/// x + y, whose gradient for y is nothing.
struct Blocks final : CustomOp {
  std::string name() const override { return "blocks"; }
  Descs infer(Inputs in) const override { return {in[0].node()->desc}; }
  Values expand(Inputs in) const override { return {in[0] + in[1]}; }
  bool has_vjp() const override { return true; }
  Values vjp(Inputs, Inputs, Inputs grad) const override { return {grad[0], Value{}}; }
};

// Records to which no gradient flows are passed, not waited for.
TEST(Final, WhatNoGradientFlowsToHoldsNothingBack) {
  const Counted counted;
  const Value x = vector_leaf({1, 2}, counted.device), y = vector_leaf({3, 4}, counted.device),
              w = vector_leaf({5, 6}, counted.device);
  for (const bool in_checkpoint : {false, true}) {
    int last = 0, told_after = 0;
    const auto loss = [&] {
      const Value first = exp(x);
      const auto function = [y, w] { return Values{exp(y * w)}; };
      const Value not_reached = in_checkpoint ? checkpoint_values(function)[0] : function()[0];
      const Value operands[] = {first * w, not_reached};
      return sum(custom(make_ref<Blocks>(), operands)[0] * 2.0);
    };
    EXPECT_EQ(told(loss, {{"x", x}, {"y", y}, {"w", w}}), "wx");
    const Value made = loss();
    counted.counter->all = 0;
    backward(made, [&](Gradients::Entry& entry) {
      last = counted.counter->all;
      if (entry.leaf == w.tape()) told_after = last;
    });
    EXPECT_LT(told_after, last);  // w before x's is computed
  }
}

TEST(Final, GradientsOfACheckpointAreToldOnceItHasRunAgain) {
  const Value x = vector_leaf({0.1, 0.2}), w = vector_leaf({0.3, 0.4}), inside = vector_leaf({0.5, 0.6}),
              last = vector_leaf({0.7, 0.8});
  int runs = 0;
  const auto loss = [&] {
    runs = 0;
    const Value first = tanh(x * w);
    const Value second = checkpoint_values([&, first] {
      ++runs;
      return Values{tanh(first * inside) * w * last};
    })[0];
    return sum(second * last);
  };
  // `last` is used by what follows, and again by the function, of which that is not known before it runs.
  const auto when = [&](const std::string&) { EXPECT_EQ(runs, 2); };
  EXPECT_EQ(told(loss, {{"x", x}, {"w", w}, {"i", inside}, {"l", last}}, when).size(), 4u);
}

// What came before a checkpoint is found when it runs again: another one, in which another is, and a leaf used by all.
TEST(Final, CheckpointsOneAfterTheOtherAndInEachOther) {
  const Value x = vector_leaf({0.1, 0.2}), all = vector_leaf({0.3, 0.4}), a = vector_leaf({0.5, 0.6}),
              b = vector_leaf({0.7, 0.8}), c = vector_leaf({0.9, 1.0});
  int runs = 0;
  const auto block = [&](const Value& in, const Value& own) {
    return checkpoint_values([&runs, in, own, all] {
      ++runs;
      return Values{tanh(in * own + all)};
    })[0];
  };
  const auto loss = [&] {
    const Value start = exp(x * all);
    const Value one = block(start, a);
    const Value two = checkpoint_values([&, one] { return Values{block(one * 2.0, b) + all}; })[0];
    return sum(block(two, c) * all);  // used last, and by what comes before all checkpoints
  };
  runs = 0;
  const Value made = loss();
  const int first = runs;
  int told_after = 0;
  backward(made, [&](Gradients::Entry&) { told_after = told_after ? told_after : runs; });
  EXPECT_EQ(told_after, runs);  // all had run again
  EXPECT_GT(runs, first);
  const std::string order = told(loss, {{"x", x}, {"a", a}, {"b", b}, {"c", c}, {"*", all}});
  EXPECT_EQ(order.size(), 5u);
  EXPECT_LT(order.find('a'), order.find('*'));
  EXPECT_LT(order.find('*'), order.size());
}

// Later leaves wait until all ranks are past what they meet for, whether or not their own take part.
TEST(Final, NothingIsToldWhileRanksAreStillToMeet) {
  const Counted counted;
  const Ranks ranks = alone();
  const Value x = vector_leaf({1, 2}, counted.device), y = vector_leaf({3, 4}, counted.device),
              z = vector_leaf({5, 6}, counted.device);
  const auto loss = [&] { return sum(all_reduce(exp(x) * y, ranks) * z); };
  const Value made = loss();
  counted.counter->runs.clear();
  backward(made, [&](Gradients::Entry&) { EXPECT_EQ(counted.counter->runs["all_reduce"], 1); });
  EXPECT_EQ(told(loss, {{"x", x}, {"y", y}, {"z", z}}), "zyx");
}

TEST(Final, GradientsHaveGraphsOfTheirOwnIfTheyShall) {
  const Value x = vector_leaf({2}), y = vector_leaf({3});
  std::map<const Record*, double> second;
  backward(sum(x * x * x * y),
           [&](Gradients::Entry& entry) {
             second[entry.leaf.get()] = elements(backward(sum(entry.grad)).of(x))[0];  // d2/dx2 and d2/dxdy
           },
           {.create_graph = true});
  EXPECT_EQ(second[x.tape().get()], 6 * 2 * 3);
  EXPECT_EQ(second[y.tape().get()], 3 * 2 * 2);
}

TEST(Final, GradientsMayBeTakenOrReplaced) {
  const Value x = vector_leaf({2}), y = vector_leaf({3}), z = vector_leaf({4});
  Value taken;
  const Gradients rest = backward(sum(x * y * z), [&](Gradients::Entry& entry) {
    if (entry.leaf == x.tape()) taken = std::exchange(entry.grad, {});
    if (entry.leaf == y.tape()) entry.grad = entry.grad * 100.0;
  });
  EXPECT_EQ(elements(taken), std::vector<double>{12});
  EXPECT_FALSE(rest.find(x));
  EXPECT_EQ(elements(rest.of(y)), std::vector<double>{800});
  EXPECT_EQ(elements(rest.of(z)), std::vector<double>{6});
}

TEST(Final, WhatIsThrownEndsTheWalk) {
  const Value x = vector_leaf({2}), y = vector_leaf({3});
  EXPECT_THROW(backward(sum(x * y), [](Gradients::Entry&) { fail<DataError>("enough"); }), DataError);
}

}  // namespace
}  // namespace kiln
