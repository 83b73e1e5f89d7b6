// What wrong uses of a router are told, and where errors of its parts go.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/autodiff/backward.hpp"
#include "kiln/ops/devices.hpp"
#include "kiln/ops/failure.hpp"
#include "kiln/ops/index/index.hpp"
#include "kiln/ops/op.hpp"
#include "kiln/ops/reduce/order.hpp"
#include "kiln/ops/scope/fails_with.hpp"
#include "tests/backend/router/parts.hpp"
#include "tests/support/backends/few_kernels.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

TEST(RouterErrors, NameWhatIsNoListOfParts) {
  const Device cpu = Device::cpu(), reference = Device::parse("reference");
  EXPECT_EQ(sentence_of([] { return router({}); }), "ArgumentError: router: 1 to 32 parts, got 0");
  EXPECT_EQ(sentence_of([&] { return Device::router({cpu, Device()}); }),
            "ArgumentError: router: no device was given for a part");
  EXPECT_EQ(sentence_of([&] { return Device::router({cpu, reference, cpu.autodiff()}); }),
            "ArgumentError: router: cpu is there twice; each part must be another device");
  EXPECT_EQ(sentence_of([&] { return Device::router({Device::router({cpu, reference}), reference}); }),
            "ArgumentError: router: reference is there twice; each part must be another device");
  EXPECT_EQ(sentence_of([] { return Device::parse("router"); }),
            "DeviceError: router:: a part has no name; write the devices with commas between them, router:cpu,cuda");
  EXPECT_EQ(sentence_of([] { return Device::parse("router:cpu,,x"); }),
            "DeviceError: router:cpu,,x: a part has no name; write the devices with commas between them, "
            "router:cpu,cuda");
  EXPECT_EQ(
      sentence_of([] { return Device::parse("router:cpu,router:reference"); }),
      "DeviceError: router:cpu,router:reference: a router within a router has no name; Device::router() makes it");
  EXPECT_THAT(sentence_of([] { return Device::parse("router:cpu,abacus"); }),
              StartsWith("DeviceError: no device 'abacus'; there are: "));
}

TEST(RouterErrors, NameWhatIsNoPart) {
  const Device device = Device::parse("router:cpu,reference");
  EXPECT_EQ(sentence_of([&] { return router_part(device, 2); }),
            "ArgumentError: router_part: router:cpu,reference has no part 2; its parts are 0 to 1");
  EXPECT_EQ(sentence_of([&] { return router_part(device, -1); }),
            "ArgumentError: router_part: router:cpu,reference has no part -1; its parts are 0 to 1");
  EXPECT_EQ(sentence_of([&] { return router_part(Device::cpu(), 0); }),
            "DeviceError: router_part: cpu is no router; Device::router() makes one");
  EXPECT_EQ(sentence_of([&] { return part_of(full({1}, 1, Device::cpu(), DType::F32)); }),
            "DeviceError: part_of: cpu is no router; Device::router() makes one");
  EXPECT_EQ(sentence_of([&] {
              MicroBatches(device, 0).begin();
              return 0;
            }),
            "ArgumentError: MicroBatches: at most 0 at a time are none; give 1 or more");
  EXPECT_EQ(sentence_of([&] { return part_of(Value(3)); }), "DeviceError: part_of: 3 is on no device");
  EXPECT_EQ(sentence_of([&] {
              device.set_memory_limit(1 << 20);
              return 0;
            }),
            "DeviceError: router:cpu,reference has the memory of its parts; set the limit of one of router_parts()");
}

TEST(RouterErrors, NameDevicesThatDoNotMix) {
  const Device device = Device::parse("router:cpu,reference");
  const Value here = full({2}, 1, device, DType::F32), there = full({2}, 1, Device::cpu(), DType::F32);
  EXPECT_EQ(sentence_of([&] { return here + there; }),
            "DeviceError: add: router:cpu,reference and cpu; move one with to_device()");
  EXPECT_EQ(sentence_of([&] { return there + here; }),
            "DeviceError: add: cpu and router:cpu,reference; move one with to_device()");
  EXPECT_THAT(numbers_of(here + to_device(there, device)), ElementsAre(2, 2));
}

TEST(RouterErrors, NameWhatAPolicyMayNotSay) {
  int said = 7;
  const Device device =
      router({Device(make_ref<FewKernels>(plain_cpu(), true)), Device::cpu()}, [&](const RouteRequest& request) {
        EXPECT_EQ(request.allowed, request.op == "sort" ? 2u : 3u) << request.op;
        return said;
      });
  const Value x = from_data(data_of({2}, {2, 1}), router_part(device, 0));
  EXPECT_EQ(sentence_of([&] { return x + 1; }),
            "ArgumentError: router:few,cpu: the policy sends add to part 7; the parts are 0 to 1");
  said = 0;
  EXPECT_EQ(sentence_of([&] { return sort(x, 0); }),
            "DeviceError: router:few,cpu: the policy sends sort to few, which has no kernel for it; "
            "RouteRequest::allowed says which parts have one");
  said = 1;
  EXPECT_THAT(numbers_of(sort(x, 0).values), ElementsAre(1, 2));
}

TEST(RouterErrors, SayThatNoPartHasAKernel) {
  const Device device = Device::router({Device(make_ref<FewKernels>(plain_cpu(), true))});
  const Value x = from_data(data_of({2}, {2, 1}), device);
  EXPECT_EQ(sentence_of([&] { return sort(x, 0); }), "DeviceError: sort: this device has no kernel for it");
}

TEST(RouterErrors, OfAPartReachWhatIsComputedFromItOnOthers) {
  const Device device = two_processors();
  const Value table = from_data(data_of({2}, {1, 2}), router_part(device, 0));
  const std::int64_t seven = 7;
  const Value index = from_data(TensorData::of<std::int64_t>({1}, {&seven, 1}), device);
  const Value wrong = index_select(table, 0, index), right = table * 2;
  const Value far = wrong + full({4, 1}, 1, router_part(device, 1), DType::F32);
  EXPECT_THAT(numbers_of(right), ElementsAre(2, 4));
  EXPECT_EQ(device.backend().state(far), Backend::State::Failed);
  EXPECT_THAT(sentence_of([&] { return far.data(); }), StartsWith("IndexError: "));
  device.sync();  // it was thrown
  EXPECT_THAT(numbers_of(right + full({4, 2}, 1, router_part(device, 1), DType::F32)),
              ElementsAre(3, 5, 3, 5, 3, 5, 3, 5));
}

TEST(RouterErrors, ThatNobodyReadAreThrownBySync) {
  const Device device = two_processors();
  const std::int64_t seven = 7;
  const Value index = from_data(TensorData::of<std::int64_t>({1}, {&seven, 1}), device);
  const Value wrong = index_select(from_data(data_of({2}, {1, 2}), router_part(device, 0)), 0, index);
  const Value far = wrong + full({4, 1}, 1, router_part(device, 1), DType::F32);
  EXPECT_THROW(device.sync(), IndexError);
  device.sync();
}

TEST(RouterErrors, OfALossReachGradientsOnOtherParts) {
  const Device device = two_processors().autodiff();
  const Value w = from_data(data_of({4}, {1, 2, 3, 4}), router_part(device, 1)).require_grad();
  const Value v = from_data(data_of({4, 4}, {1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}), router_part(device, 0));
  const std::int64_t seven = 7;
  const Value index = from_data(TensorData::of<std::int64_t>({1}, {&seven, 1}), device);
  const Value loss = sum(index_select(v * w, 1, index));
  const Gradients gradients = backward(loss);
  EXPECT_THAT(sentence_of([&] { return gradients.of(w).data(); }), HasSubstr("IndexError"));
}

TEST(RouterErrors, OfACauseReachOtherParts) {
  const Device device = two_processors();
  const std::int64_t seven = 7;
  const Value index = from_data(TensorData::of<std::int64_t>({1}, {&seven, 1}), device);
  const Value here = full({2}, 1, router_part(device, 1), DType::F32);
  const Value cause = index_select(from_data(data_of({2}, {1, 2}), router_part(device, 0)), 0, index);
  Value result;
  {
    const FailsWith scope({&cause, 1});
    result = here * 2;
  }
  EXPECT_EQ(part_of(result), 1);
  EXPECT_THROW((void)result.data(), IndexError);
  EXPECT_THAT(numbers_of(here * 2), ElementsAre(2, 2));
  device.sync();
}

TEST(RouterErrors, OfACauseOnAnotherRouterReachResults) {
  const Device device = two_processors(), other = Device::router({Device::parse("reference"), Device::cpu()});
  const std::int64_t seven = 7;
  const Value index = from_data(TensorData::of<std::int64_t>({1}, {&seven, 1}), other);
  const Value here = full({2}, 1, router_part(device, 0), DType::F32);
  const Value cause = index_select(from_data(data_of({2}, {1, 2}), router_part(other, 1)), 0, index);
  Value result;
  {
    const FailsWith scope({&cause, 1});
    result = here * 2;
  }
  EXPECT_THROW((void)result.data(), IndexError);
  EXPECT_THAT(numbers_of(here * 2), ElementsAre(2, 2));
}

TEST(RouterErrors, ThatStandInPlaceOfAValueAreThrown) {
  const Device device = two_processors();
  const Value failed(make_ref<Node>(Desc{{2}, DType::F32}, device));
  failed.node()->storage = attempt([] { fail<MemoryError>("the session is full"); });
  const Value here = full({2}, 1, router_part(device, 1), DType::F32);
  EXPECT_EQ(device.backend().state(failed), Backend::State::Failed);
  EXPECT_THAT(sentence_of([&] { return failed.data(); }), StartsWith("MemoryError: the session is full"));
  EXPECT_THAT(sentence_of([&] { return (here + failed).data(); }), StartsWith("MemoryError: the session is full"));
  EXPECT_THROW(device.backend().run_pending({&failed, 1}), MemoryError);
  EXPECT_THROW((void)device.backend().start_read({&failed, 1}), MemoryError);
  EXPECT_THROW((void)device.backend().download(failed), MemoryError);
  EXPECT_THAT(numbers_of(here), ElementsAre(1, 1));
}

TEST(RouterErrors, OfMemoryNameThePart) {
  const Device simulated = Device::parse("simulated"), device = Device::router({Device::cpu(), simulated});
  const std::int64_t limit = simulated.memory().limit;
  simulated.release_memory();
  simulated.set_memory_limit(simulated.memory().reserved + (1 << 20));
  const Value large = full({1 << 20}, 1, router_part(device, 0), DType::F32);
  const std::string said =
      sentence_of([&] { return (large + full({1}, 1, router_part(device, 1), DType::F32)).data(); });
  const std::string moved = sentence_of([&] { return to_device(large, router_part(device, 1)).data(); });
  const std::string uploaded =
      sentence_of([&] { return from_data(TensorData({1 << 20}, DType::F32), router_part(device, 1)).data(); });
  simulated.set_memory_limit(limit);
  EXPECT_EQ(said, "");  // it runs where the larger operand is
  EXPECT_THAT(moved, StartsWith("MemoryError: simulated: "));
  EXPECT_THAT(uploaded, StartsWith("MemoryError: simulated: "));
  EXPECT_EQ(numbers_of(to_device(large, router_part(device, 1)))[5], 1);
}

}  // namespace
}  // namespace kiln::test
