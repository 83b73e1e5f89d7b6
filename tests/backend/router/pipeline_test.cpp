// Parts that run in threads of their own: a program goes on while values move, so that micro-batches overlap.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "kiln/autodiff/backward.hpp"
#include "kiln/fusion/fusion.hpp"
#include "kiln/ops/custom.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/index/index.hpp"
#include "tests/backend/router/parts.hpp"
#include "tests/support/backends/queued.hpp"
#include "tests/support/forwarding.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using State = Backend::State;

/// Two devices with a thread each.
struct Pair {
  explicit Pair(bool fused = false) {
    const auto part = [&](const Ref<Queued>& each) {
      return fused ? Device(make_ref<fusion::Fusion>(each)) : Device(each);
    };
    device = Device::router({part(first), part(second)}).autodiff();
  }
  Ref<Queued> first = make_ref<Queued>(plain_cpu()), second = make_ref<Queued>(plain_cpu());
  Device device;
};

/// Two layers, one on each part: sum((x a) b).
struct Layers {
  explicit Layers(const Device& device)
      : a(from_data(data_of({2, 2}, {1, 2, 3, 4}), router_part(device, 0)).require_grad()),
        b(from_data(data_of({2, 2}, {5, 6, 7, 8}), router_part(device, 1)).require_grad()) {}
  Value a, b;
};

TEST(RouterPipeline, GoesOnWhileAValueMoves) {
  const Pair pair;
  const Layers layers(pair.device);
  pair.first->worker.hold();
  const Value x = from_data(data_of({1, 2}, {1, 1}), pair.device);
  const Value hidden = matmul(x, layers.a), result = matmul(hidden, layers.b), more = result * 2 + 1;
  EXPECT_EQ(pair.device.backend().state(more), State::Waiting);
  EXPECT_EQ(part_of(more), 1);
  // What does not depend on it runs.
  EXPECT_THAT(numbers_of(layers.b + 1), ElementsAre(6, 7, 8, 9));
  EXPECT_EQ(pair.device.backend().state(more), State::Waiting);
  pair.first->worker.release();
  EXPECT_THAT(numbers_of(more), ElementsAre(2 * (4 * 5 + 6 * 7) + 1, 2 * (4 * 6 + 6 * 8) + 1));
  EXPECT_EQ(router_moves(pair.device).count, 1);
}

TEST(RouterPipeline, RunsTheNextMicroBatchOnTheFirstPartMeanwhile) {
  for (const bool fused : {false, true}) {
    const Pair pair(fused);
    const Layers layers(pair.device);
    pair.second->worker.hold();
    Values hidden, losses, gradients;
    for (int i = 0; i < 3; ++i) {
      const Value x = from_data(data_of({1, 2}, {1.f + static_cast<float>(i), 1}), pair.device);
      hidden.push_back(matmul(x, layers.a));
      losses.push_back(sum(matmul(hidden.back(), layers.b)));
      const Gradients found = backward(losses.back());
      for (const Value* leaf : {&layers.a, &layers.b}) gradients.push_back(found.of(*leaf));
    }
    pair.device.flush();
    // The second part has done nothing yet.
    EXPECT_THAT(numbers_of(hidden[2].detach()), ElementsAre(6, 10));
    EXPECT_EQ(pair.device.backend().state(losses[0]), State::Waiting);
    pair.second->worker.release();
    for (int i = 0; i < 3; ++i) {
      const float x = 1 + static_cast<float>(i);
      // d sum((x a) b) / da = x^T (b 1), / db = (x a)^T 1
      EXPECT_THAT(numbers_of(gradients[static_cast<std::size_t>(2 * i)]), ElementsAre(x * 11, x * 15, 11, 15));
      EXPECT_THAT(numbers_of(gradients[static_cast<std::size_t>(2 * i + 1)]),
                  ElementsAre(x + 3, x + 3, 2 * x + 4, 2 * x + 4));
      EXPECT_EQ(losses[static_cast<std::size_t>(i)].item(), (x + 3) * 11 + (2 * x + 4) * 15);
    }
    // Two moves for each micro-batch: forward and back.
    EXPECT_EQ(router_moves(pair.device).count, 6);
  }
}

/// The most memory that micro-batches of 4 MiB of activations take, of which at most so many are under way; 0: any number.
std::int64_t peak_of_micro_batches(int most) {
  const Pair pair;
  constexpr std::int64_t kWide = 1 << 20;
  const Value a = full({kWide}, 2, router_part(pair.device, 0), DType::F32).require_grad();
  const Value b = full({kWide}, 3, router_part(pair.device, 1), DType::F32).require_grad();
  pair.device.sync();
  Device::cpu().reset_memory_peak();
  const std::int64_t before = Device::cpu().memory().in_use;
  std::optional<MicroBatches> in_flight;
  if (most) in_flight.emplace(pair.device, most);
  else pair.second->worker.hold();
  Values sums;
  for (int i = 0; i < 12; ++i) {
    if (in_flight) in_flight->begin();
    const Value x = from_data(data_of({1}, {1}), pair.device);
    const Gradients found = backward(sum(square(exp(a * 0) * x) * b));
    sums.push_back(sum(found.of(a)));  // d/da = 0
    sums.push_back(sum(found.of(b)));  // d/db = 1
  }
  if (!most) pair.second->worker.release();
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(sums[static_cast<std::size_t>(2 * i)].item(), 0);
    EXPECT_EQ(sums[static_cast<std::size_t>(2 * i + 1)].item(), kWide);
  }
  return Device::cpu().memory().peak - before;
}

TEST(RouterPipeline, KeepsAsManyMicroBatchesInMemoryAsTheProgramSays) {
  const std::int64_t one = peak_of_micro_batches(1), two = peak_of_micro_batches(2), all = peak_of_micro_batches(0);
  EXPECT_LE(two, 2 * one + (one >> 2)) << one;
  EXPECT_GE(all, 5 * one) << one;
}

TEST(RouterPipeline, TakesErrorsAlong) {
  const Pair pair;
  const Layers layers(pair.device);
  const std::int64_t seven = 7;
  const Value index = from_data(TensorData::of<std::int64_t>({1}, {&seven, 1}), pair.device);
  pair.first->worker.hold();
  const Value wrong = matmul(index_select(layers.a, 0, index), layers.b) * 2;
  const Value right = matmul(layers.a, layers.b);
  EXPECT_EQ(pair.device.backend().state(wrong), State::Waiting);
  pair.first->worker.release();
  EXPECT_THROW((void)wrong.data(), IndexError);
  EXPECT_THAT(numbers_of(right.detach()), ElementsAre(19, 22, 43, 50));
  pair.device.sync();  // it was thrown
  const Value unread = matmul(index_select(layers.a, 0, index), layers.b);
  EXPECT_THROW(pair.device.sync(), IndexError);
  pair.device.sync();
}

TEST(RouterPipeline, GoesOnWhileAnotherThreadReads) {
  const Pair pair;
  const Layers layers(pair.device);
  pair.first->worker.hold();
  const Value x = from_data(data_of({1, 2}, {1, 1}), pair.device);
  const Value result = matmul(matmul(x, layers.a), layers.b);
  std::vector<float> found;
  std::thread reader([&] { found = numbers_of(result.detach()); });
  // What comes from the host needs the router's lock.
  for (int i = 0; i < 20; ++i) {
    const Value other = from_data(data_of({2}, {1, 2}), pair.device);
    EXPECT_THAT(numbers_of(layers.b.detach() + other), ElementsAre(6, 8, 8, 10));
  }
  EXPECT_EQ(pair.device.backend().state(result), State::Waiting);
  pair.first->worker.release();
  reader.join();
  EXPECT_THAT(found, ElementsAre(4 * 5 + 6 * 7, 4 * 6 + 6 * 8));
}

TEST(RouterPipeline, EndsWithItsLastValueWhateverWaits) {
  const Ref<Queued> first = make_ref<Queued>(plain_cpu()), second = make_ref<Queued>(plain_cpu());
  first->worker.hold();
  {
    const Device device = Device::router({Device(first), Device(second)});
    const Value x = full({2}, 1, router_part(device, 0), DType::F32) + 1;
    const Value there = to_device(x, router_part(device, 1)) * 2;
    EXPECT_EQ(device.backend().state(there), State::Waiting);
  }
  EXPECT_TRUE(second->has_one_owner());
  first->worker.release();
}

/// A copy by a kernel of the processor that reads another value first.
struct Reader final : CustomOp {
  explicit Reader(const Value* other) : other(other) {}
  std::string name() const override { return "reader"; }
  Descs infer(Inputs in) const override { return {{in[0].shape(), in[0].dtype()}}; }
  Values expand(Inputs) const override { return {}; }
  bool run(std::string_view, Call call) const override {
    call.out[0] = call.in[0] + numbers_of(other->detach())[0];
    return true;
  }
  const Value* const other;
};

/// The kernel runs on the second part, in the thread that reads: one in the thread of a part would wait for itself.
TEST(RouterPipeline, LetsAKernelReadWhatWaitsBehindIt) {
  const auto first = make_ref<Queued>(plain_cpu());
  const Device device = Device::router({Device(first), Device(plain_cpu())});
  const Value a = from_data(data_of({2}, {1, 2}), router_part(device, 0));
  const Value b = from_data(data_of({2}, {10, 20}), router_part(device, 1));
  first->worker.hold();
  const Value there = to_device(a * 3, router_part(device, 1));
  Value later;
  const Value own = emit(op::Custom{make_ref<Reader>(&later)}, {there + b});
  later = there * b + 1;  // it waits for the same move, behind the kernel
  EXPECT_EQ(device.backend().state(own), State::Waiting);
  EXPECT_EQ(device.backend().state(later), State::Waiting);
  first->worker.release();
  EXPECT_THAT(numbers_of(own), ElementsAre(3 + 10 + 31, 6 + 20 + 31));
  EXPECT_THAT(numbers_of(later), ElementsAre(31, 121));
}

TEST(RouterPipeline, TellsAKernelThatReadsItsOwnResult) {
  const auto first = make_ref<Queued>(plain_cpu());
  const Device device = Device::router({Device(first), Device(plain_cpu())});
  const Value a = from_data(data_of({2}, {1, 2}), router_part(device, 0));
  const Value b = from_data(data_of({2}, {10, 20}), router_part(device, 1));
  first->worker.hold();
  Value own;
  own = emit(op::Custom{make_ref<Reader>(&own)}, {to_device(a * 3, router_part(device, 1)) + b});
  EXPECT_EQ(device.backend().state(own), State::Waiting);
  first->worker.release();
  EXPECT_THAT(sentence_of([&] { (void)numbers_of(own); }),
              HasSubstr("waits for a value that is only computed after it"));
}

/// A processor that does not always know its kernels.
class Forgetful final : public Forwarding {
 public:
  Forgetful() : Forwarding(plain_cpu()) {}
  std::string name() const override { return "forgetful"; }
  bool has_kernel(const op::Op& op) const override {
    require<DeviceError>(!forgets, "forgetful: it has forgotten its kernels");
    return Forwarding::has_kernel(op);
  }
  bool forgets = false;
};

TEST(RouterPipeline, LosesOnlyTheOperationWhoseOperandsCannotBeBrought) {
  const auto first = make_ref<Queued>(plain_cpu());
  const auto second = make_ref<Forgetful>();
  const Device device = Device::router({Device(first), Device(second)});
  const Value a = from_data(data_of({2}, {1, 2}), router_part(device, 0));
  const Value b = from_data(data_of({2, 2}, {10, 20, 30, 40}), router_part(device, 1));
  first->worker.hold();
  const Value tripled = a * 3, there = to_device(tripled, router_part(device, 1));
  // This view is made again on the second part, which is asked then whether it has a kernel for it.
  const Value lost = reshape(tripled, {1, 2}) + b, behind = there + b;
  EXPECT_EQ(device.backend().state(lost), State::Waiting);
  EXPECT_EQ(device.backend().state(behind), State::Waiting);
  second->forgets = true;
  first->worker.release();
  EXPECT_THAT(numbers_of(behind), ElementsAre(13, 26, 33, 46));
  EXPECT_THAT(sentence_of([&] { (void)numbers_of(lost); }), HasSubstr("forgetful: it has forgotten its kernels"));
  EXPECT_EQ(device.backend().state(lost), State::Failed);
  device.sync();  // it was thrown
  second->forgets = false;
  EXPECT_THAT(numbers_of(there + b), ElementsAre(13, 26, 33, 46));
}

TEST(RouterPipeline, WaitsForAllOfItAtASync) {
  const Pair pair;
  const Layers layers(pair.device);
  Value x = from_data(data_of({2, 2}, {1, 0, 0, 1}), pair.device);
  for (int i = 0; i < 20; ++i) x = matmul(matmul(x, layers.a), layers.b) * 0.01;
  pair.device.sync();
  EXPECT_EQ(pair.device.backend().state(x), State::Arrived);
  Value expected = from_data(data_of({2, 2}, {1, 0, 0, 1}), Device::cpu());
  const Value a = to_device(layers.a, Device::cpu()), b = to_device(layers.b, Device::cpu());
  for (int i = 0; i < 20; ++i) expected = matmul(matmul(expected, a), b) * 0.01;
  EXPECT_EQ(numbers_of(x.detach()), numbers_of(expected));
}

}  // namespace
}  // namespace kiln::test
