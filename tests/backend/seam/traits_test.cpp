// A plan is made for the device that runs it, as that one says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kiln/fusion/fusion.hpp"
#include "kiln/ops/expand.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/fusion_traits.hpp"
#include "kiln/ops/planned/sequence.hpp"
#include "tests/support/backends/devices.hpp"
#include "tests/support/forwarding.hpp"

namespace kiln::test {
namespace {

/// The processor, with other wishes; notes what runs.
class Wishing final : public Forwarding {
 public:
  explicit Wishing(FusionTraits traits) : Forwarding(plain_cpu()), traits_(std::move(traits)) {}
  FusionTraits fusion_traits() const override { return traits_; }
  /// Planned ops that are for other devices arrive whole, too.
  bool has_kernel(const op::Op& op) const override { return is_planned(op) || inner_->has_kernel(op); }
  void run(const op::Op& op, Call call) override {
    ran.push_back(op);
    inner_->run(op, call);
  }
  std::vector<op::Op> ran;

 private:
  const FusionTraits traits_;
};

template <class T>
int count(const Wishing& backend) {
  return static_cast<int>(
      std::ranges::count_if(backend.ran, [](const op::Op& op) { return std::holds_alternative<T>(op.is); }));
}

Value numbers(const Shape& shape, const Device& device) {
  return reshape(arange(0.0, static_cast<double>(numel(shape)), 1.0, device, DType::F32) * 1e-4, shape);
}

struct Wished {
  explicit Wished(FusionTraits traits)
      : backend(make_ref<Wishing>(std::move(traits))), device(make_ref<fusion::Fusion>(backend)) {}
  Ref<Wishing> backend;
  Device device;
};

FusionTraits of_cpu() { return plain_cpu()->fusion_traits(); }

TEST(Traits, OfADeviceThatJoinsNothingLeaveEveryOpAlone) {
  const Wished wished{FusionTraits{.max_ops = 100, .max_bytes = 1 << 30}};
  const Value x = numbers({512, 512}, wished.device);
  wished.device.flush();
  wished.backend->ran.clear();
  const Value y = relu(matmul(x, x) + 1), z = exp(x) * 2;
  EXPECT_GT(sum(y + z).data().at(0), 0);
  EXPECT_EQ(wished.backend->ran.size(), 8u);  // a sum is a reduction and a reshape
  EXPECT_EQ(count<op::Fused>(*wished.backend) + count<op::Epilogue>(*wished.backend), 0);
}

TEST(Traits, SayWhichReductionsStandAtTheEndOfAGroup) {
  for (const bool folds : {true, false}) {
    FusionTraits traits = of_cpu();
    if (!folds) traits.groups->reductions = {op::ReduceFn::Max};
    const Wished wished(traits);
    const Value x = numbers({4, 256}, wished.device);
    wished.device.flush();
    EXPECT_GT(sum(exp(x) * 2, {1}).data().at(0), 0);
    EXPECT_EQ(count<op::Reduce>(*wished.backend), folds ? 0 : 1);
  }
  for (const std::int64_t least : {256, 257}) {
    FusionTraits traits = of_cpu();
    traits.groups->min_reduced = least;
    const Wished wished(traits);
    EXPECT_GT(sum(exp(numbers({4, 256}, wished.device)) * 2, {1}).data().at(0), 0);
    EXPECT_EQ(count<op::Reduce>(*wished.backend), least == 256 ? 0 : 1);
  }
}

TEST(Traits, SayHowLongAGroupMayBe) {
  FusionTraits traits = of_cpu();
  traits.groups->max_steps = 4;
  traits.batching.reset();
  const Wished wished(traits);
  Value x = from_data(TensorData({8}, DType::F32), wished.device);
  for (int i = 0; i < 12; ++i) x = x * 2 + 1;
  EXPECT_EQ(x.data().at(0), 4095);
  for (const op::Op& op : wished.backend->ran)
    if (const auto* fused = std::get_if<op::Fused>(&op.is)) { EXPECT_LE(fused->program->steps.size(), 4u); }
  EXPECT_GE(count<op::Fused>(*wished.backend), 6);

  traits.groups = of_cpu().groups;
  traits.groups->max_inputs = 4;
  const Wished narrow(traits);
  Value sum = from_data(TensorData({8}, DType::F32), narrow.device);
  for (int i = 1; i < 12; ++i) sum = sum + from_data(TensorData({8}, DType::F32), narrow.device);
  (void)sum.data();
  for (const op::Op& op : narrow.backend->ran)
    if (const auto* fused = std::get_if<op::Fused>(&op.is)) { EXPECT_LE(fused->program->inputs.size(), 4u); }
}

TEST(Traits, SayFromWhatSizeOnStepsAreJoined) {
  for (const bool joins : {true, false}) {
    FusionTraits traits = of_cpu();
    traits.epilogues->min_product = joins ? 16 : 17;
    traits.batching->max_each = joins ? 5 : 4;
    const Wished wished(traits);
    const Value x = from_data(TensorData({4, 4}, DType::F32), wished.device);
    const Value y = relu(matmul(x, x) + 1);
    EXPECT_EQ(y.data().at(0), 1);
    EXPECT_EQ(count<op::Epilogue>(*wished.backend), joins ? 1 : 0);
    const Value a = from_data(TensorData({5}, DType::F32), wished.device), b = a * 2, c = exp(a + 1);
    wished.device.flush();
    EXPECT_EQ(count<op::Batched>(*wished.backend), joins ? 1 : 0);
    EXPECT_EQ(b.data().at(0), 0);
  }
  using Blocks = FusionTraits::Blocks;
  constexpr int kElements = 64 * 32;  // in 16 blocks of 4 rows
  for (const auto& [wanted, blocks] :
       {std::pair(Blocks{.min_elements = kElements, .block = 128, .max_row = 32, .min_blocks = 16}, true),
        std::pair(Blocks{.min_elements = kElements + 1, .block = 128, .max_row = 32, .min_blocks = 16}, false),
        std::pair(Blocks{.min_elements = kElements, .block = 128, .max_row = 31, .min_blocks = 16}, false),
        std::pair(Blocks{.min_elements = kElements, .block = 128, .max_row = 32, .min_blocks = 17}, false)}) {
    FusionTraits traits = of_cpu();
    traits.blocks = wanted;
    const Wished wished(traits);
    const Value x = numbers({64, 32}, wished.device);
    wished.device.flush();
    const Value y = exp(x - max(x, {1}, true));
    const Value z = y / sum(y, {1}, true);
    EXPECT_NEAR(sum(z, {1}).data().at(63), 1, 1e-5);
    EXPECT_EQ(count<op::RowBlocked>(*wished.backend), blocks ? 1 : 0);
  }
}

TEST(Traits, SayHowFarApartStepsAreJoined) {
  for (const std::size_t max_distance : {1, 2}) {
    FusionTraits traits = of_cpu();
    traits.batching->max_distance = max_distance;
    const Wished wished(traits);
    const Value a = from_data(TensorData({5}, DType::F32), wished.device), b = a * 2, c = exp(a + 1);
    EXPECT_EQ(b.data().at(0), 0);
    EXPECT_EQ(count<op::Batched>(*wished.backend), max_distance == 2 ? 1 : 0);
  }
}

TEST(Traits, SayHowLongAResultIsKeptForARepeat) {
  for (const std::size_t within : {1, 2}) {
    const Wished wished(FusionTraits{.max_ops = 100, .max_bytes = 1 << 20, .repeats_within = within});
    const Value x = numbers({2, 3}, wished.device);
    wished.device.flush();
    const Value once = sum(exp(x)), again = sum(exp(x) * 2);  // with a reduction and a view between the two
    EXPECT_NEAR(again.data().at(0), 2 * once.data().at(0), 1e-5);
    EXPECT_EQ(count<op::Unary>(*wished.backend), within == 2 ? 1 : 2);
  }
}

FusionTraits of_fused_rows() {
  FusionTraits traits{.max_ops = 100, .max_bytes = 1 << 20};
  traits.rows = FusionTraits::Rows{.reductions = {op::ReduceFn::Max},
                                   .max_row = 64,
                                   .max_dropout_row = 32,
                                   .max_live_rows = 1 << 10,
                                   .max_steps = 8,
                                   .max_distance = 1};
  return traits;
}

TEST(Traits, SayWhichStepsOfARowAreFused) {
  const auto fused = [](const auto& change) {
    FusionTraits traits = of_fused_rows();
    change(*traits.rows);
    const Wished wished(traits);
    const Value x = numbers({4, 32}, wished.device);
    wished.device.flush();
    const Value y = x - max(x, {1}, true);
    EXPECT_NEAR(y.data().at(0), -31e-4, 1e-6);
    return count<op::RowFused>(*wished.backend);
  };
  EXPECT_EQ(fused([](FusionTraits::Rows&) {}), 1);
  EXPECT_EQ(fused([](FusionTraits::Rows& rows) { rows.reductions.clear(); }), 0);
  EXPECT_EQ(fused([](FusionTraits::Rows& rows) { rows.max_row = 31; }), 0);
  EXPECT_EQ(fused([](FusionTraits::Rows& rows) { rows.max_live_rows = 31; }), 0);
  EXPECT_EQ(fused([](FusionTraits::Rows& rows) { rows.max_steps = 1; }), 0);
  EXPECT_EQ(fused([](FusionTraits::Rows& rows) { rows.max_distance = 0; }), 0);
}

TEST(Traits, SayHowLongARowIsWhereNothingIsFolded) {
  for (const std::int64_t longest : {31, 32}) {
    FusionTraits traits = of_fused_rows();
    traits.rows->max_dropout_row = longest;
    const Wished wished(traits);
    const Value x = numbers({4, 32}, wished.device);
    wished.device.flush();
    const Value y = dropout(x, 0.5, Key{1}) * 2;
    EXPECT_EQ(y.data().at(0), 0);
    EXPECT_EQ(count<op::RowFused>(*wished.backend), longest == 32 ? 1 : 0);
  }
}

TEST(Traits, OfADeviceThatSaysNothingGatherNothing) {
  const Wished wished{FusionTraits{}};
  const Value x = numbers({4, 4}, wished.device);
  wished.backend->ran.clear();
  const Value y = exp(x);
  EXPECT_EQ(wished.backend->ran.size(), 1u);  // nobody has read it
  EXPECT_EQ(y.data().at(0), 1);
}

TEST(Traits, HaveProductsTakeALoneOpWhereNothingIsGrouped) {
  FusionTraits traits{.max_ops = 100, .max_bytes = 1 << 20};
  traits.epilogues = of_cpu().epilogues;
  traits.epilogues->min_product = 1;
  const Wished wished(traits);
  const Value x = from_data(TensorData({4, 4}, DType::F32), wished.device);
  const Value y = matmul(x, x) + 1, z = exp(y) * 2;
  EXPECT_NEAR(z.data().at(0), 2 * std::exp(1.0), 1e-6);
  EXPECT_EQ(count<op::Epilogue>(*wished.backend), 1);
  EXPECT_EQ(count<op::Unary>(*wished.backend) + count<op::Binary>(*wished.backend), 2);
}

TEST(Traits, SayHowMuchStaysInCaches) {
  constexpr std::int64_t kBytes = 2 * 16 * 4;  // of y and z, which nobody reads again
  for (const std::int64_t most : {kBytes, kBytes - 1}) {
    FusionTraits traits = of_cpu();
    traits.batching.reset();
    traits.streaming->max_cached = most;
    const Wished wished(traits);
    const Value x = numbers({4, 4}, wished.device);
    wished.device.flush();
    wished.backend->ran.clear();
    const Value read = exp(x) * 2, product = matmul(read, read), y = x * 3 + 1, z = exp(product) + 1;
    wished.device.flush();
    std::vector<bool> streaming;
    for (const op::Op& op : wished.backend->ran)
      if (const auto* fused = std::get_if<op::Fused>(&op.is)) streaming.push_back(fused->streams);
    ASSERT_EQ(streaming.size(), 3u);
    EXPECT_FALSE(streaming[0]);
    EXPECT_EQ(streaming[1], most < kBytes);
    EXPECT_EQ(streaming[2], most < kBytes);
    EXPECT_EQ(y.data().at(0), 1);
  }
}

TEST(Traits, SayHowMuchIsGathered) {
  FusionTraits traits = of_cpu();
  traits.max_ops = 10;
  const Wished wished(traits);
  const auto segments = [&] { return static_cast<fusion::Fusion&>(wished.device.backend()).statistics().segments; };
  Value x = full({8}, 1.0, wished.device, DType::F32);
  for (int i = 1; i < 30; ++i) x = x + 1;
  EXPECT_EQ(segments(), 3);

  traits.max_ops = 1000;
  traits.max_bytes = 8 * 4;
  const Wished small(traits);
  const Value held = from_data(TensorData({8}, DType::F32), small.device), y = held + 1;
  EXPECT_EQ(static_cast<fusion::Fusion&>(small.device.backend()).statistics().segments, 1);
}

}  // namespace
}  // namespace kiln::test
