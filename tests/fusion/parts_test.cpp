// Of a step that fails, what does not depend on the failure can still be had, with the bits of an undisturbed run.
#include <gtest/gtest.h>

#include "kiln/ops/functions.hpp"
#include "kiln/ops/index/index.hpp"
#include "tests/fusion/fused_device.hpp"

namespace kiln::test {
namespace {

using std::int64_t;
constexpr int64_t kMebibyte = 1 << 20;

/// The contents of each value that can be had, nothing for the others.
std::vector<std::vector<float>> contents(const Values& values) {
  std::vector<std::vector<float>> all;
  for (const Value& value : values) {
    try {
      all.push_back(value.data().to_vector<float>());
    } catch (const MemoryError&) { all.emplace_back(); } catch (const IndexError&) {
      all.emplace_back();
    }
  }
  return all;
}

/// Runs program(inputs) under limits from too little for any result to enough for all: whatever can be had is right, a
/// step that cannot make all results makes some, and the program goes on afterwards.
template <class Inputs, class F>
void expect_partial_results(Inputs inputs, F program) {
  const FusedDevice fused;
  const Values in = inputs(fused);
  fused.device.sync();
  const Device memory = Device::cpu();
  const auto whole = contents(program(in));
  int some = 0, all = 0;
  for (int64_t room = 0; room < 200 && all == 0; room += 2) {
    memory.release_memory();
    memory.set_memory_limit(memory.memory().reserved + room * kMebibyte + 1);
    Values results = program(in);
    fused.device.flush();
    memory.set_memory_limit(int64_t{1} << 40);
    const auto found = contents(results);
    try {
      fused.device.sync();
    } catch (const MemoryError&) {}
    std::size_t had = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      had += !found[i].empty();
      if (!found[i].empty()) { ASSERT_EQ(found[i], whole[i]) << i << ", " << room; }
    }
    some += had > 0 && had < found.size();
    all += had == found.size();
    results.clear();
    ASSERT_EQ(contents(program(in)), whole) << "afterwards, " << room;
  }
  EXPECT_GT(some, 0);
  EXPECT_GT(all, 0);
}

TEST(Parts, OfAFusedStepThatFindsNoMemory) {
  expect_partial_results([](const FusedDevice& fused) { return Values{fused.of({3 * kMebibyte / 4}, 0.001)}; },
                         [](const Values& in) {
                           const Value x = in[0] * 2, y = x + 1, z = exp(neg(y)), u = z * y;
                           return Values{x, y, z, u, sqrt(u)};
                         });
}

TEST(Parts, OfStepsTogetherThatFindNoMemory) {
  expect_partial_results(
      [](const FusedDevice& fused) {
        Values in;
        for (int i = 0; i < 150; ++i) in.push_back(fused.of({32000 + i}, 0.001));
        return in;
      },
      [](const Values& in) {
        Values results;
        for (const Value& x : in) results.push_back(x * 2 + 1);
        for (const Value& x : in) results.push_back(exp(neg(x)));
        for (const Value& x : in) results.push_back(x * 3 - 1);
        return results;
      });
}

TEST(Parts, OfABlockedStepThatFindsNoMemory) {
  expect_partial_results([](const FusedDevice& fused) { return Values{fused.of({1100, 1024}, 1e-6)}; },
                         [](const Values& in) {
                           const Value powers = exp(in[0] - max(in[0], {1}, true));
                           const Value shares = powers / sum(powers, {1}, true);
                           return Values{shares, shares * in[0] + 1, max(shares, {1}, true)};
                         });
}

TEST(Parts, OfAFinishedProductThatFindsNoMemory) {
  expect_partial_results(
      [](const FusedDevice& fused) { return Values{fused.of({1500, 8}, 1e-3), fused.of({8, 700}, 1e-3)}; },
      [](const Values& in) {
        const Value p = matmul(in[0], in[1]) * 0.5, q = relu(p - 1), r = p * q;
        return Values{q, r, r + 0.25};
      });
}

TEST(Parts, ThatAreNotMadeOfWhatFailed) {
  const FusedDevice fused;
  const Value x = fused.of({4, 3}), wrong = select(x, 0, full({4}, 9, fused.device, DType::I64));
  const Value doubled = x * 2, both = doubled + wrong, more = doubled - 1, sums = sum(both, {1}, true);
  EXPECT_THROW((void)both.data(), IndexError);  // one kernel makes all of these
  EXPECT_THROW((void)sums.data(), IndexError);
  EXPECT_EQ(doubled.data().to_vector<float>()[3], 1.5f);
  EXPECT_EQ(more.data().to_vector<float>()[3], 0.5f);
}

TEST(Parts, OfNumbersThatStandForTensors) {
  // The plan has the number 3 for the tensor, which is made of nothing that failed.
  const FusedDevice fused;
  const Value x = fused.of({4}), wrong = select(x, 0, full({4}, 9, fused.device, DType::I64));
  const Value threes = full({4}, 3, fused.device, DType::F32), product = x * threes, bad = wrong * threes;
  EXPECT_THROW((void)bad.data(), IndexError);
  EXPECT_EQ(product.data().to_vector<float>()[2], 1.5f);
}

TEST(Parts, StatesAreKnownWithoutRunning) {
  const FusedDevice fused;
  using State = Backend::State;
  const Value x = fused.of({4}), wrong = select(x, 0, full({4}, 9, fused.device, DType::I64)), right = x + 1;
  EXPECT_EQ(fused.fusion->state(right), State::Waiting);
  EXPECT_EQ(fused.fusion->state(wrong), State::Waiting);
  fused.fusion->run_pending({&right, 1});
  EXPECT_EQ(fused.fusion->state(right), State::Arrived);
  EXPECT_EQ(fused.fusion->state(wrong), State::Failed);
  EXPECT_THROW(fused.fusion->run_pending({&wrong, 1}), IndexError);
  fused.device.sync();  // the error has been thrown once
}

}  // namespace
}  // namespace kiln::test
