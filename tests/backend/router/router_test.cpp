// One device made of several gives the numbers of one, and says where they were computed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "kiln/autodiff/backward.hpp"
#include "kiln/backend/capture/graph.hpp"
#include "kiln/backend/inspect/profile.hpp"
#include "kiln/ops/create/random.hpp"
#include "kiln/ops/custom.hpp"
#include "kiln/ops/devices.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/index/index.hpp"
#include "kiln/ops/op.hpp"
#include "kiln/ops/read.hpp"
#include "kiln/ops/reduce/order.hpp"
#include "kiln/ops/scope/beside.hpp"
#include "kiln/ops/scope/float32_precision.hpp"
#include "tests/backend/router/parts.hpp"
#include "tests/support/backends/few_kernels.hpp"

namespace kiln::test {
namespace {

using testing::ElementsAre;

TEST(Router, RunsWhereTheLargestPlacedOperandIs) {
  const Device device = two_processors(), first = router_part(device, 0), second = router_part(device, 1);
  const Value small = from_data(data_of({2}, {1, 2}), first),
              large = from_data(data_of({2, 2}, {10, 20, 30, 40}), second);
  EXPECT_EQ(part_of(small), 0);
  EXPECT_EQ(part_of(large), 1);
  const Value sum = small + large;
  EXPECT_EQ(part_of(sum), 1);
  EXPECT_THAT(numbers_of(sum), ElementsAre(11, 22, 31, 42));
  EXPECT_EQ(router_moves(device).count, 1);
  EXPECT_EQ(router_moves(device).bytes, 8);
  // It is there now.
  EXPECT_THAT(numbers_of(small * large), ElementsAre(10, 40, 30, 80));
  EXPECT_EQ(router_moves(device).count, 1);
}

TEST(Router, MovesTheFewestBytesWhereNothingIsPlaced) {
  const Device device = two_processors();
  const Value small = full({2}, 3, router_part(device, 0), DType::F32) * from_data(data_of({2}, {1, 2}), device);
  const Value large = full({3, 2}, 1, router_part(device, 1), DType::F32) + from_data(data_of({2}, {0, 1}), device);
  const Value mixed = exp(small * 0) * from_data(data_of({2}, {5, 6}), device);
  ASSERT_EQ(part_of(mixed), 0);
  EXPECT_EQ(router_moves(device).count, 0);
  EXPECT_EQ(part_of(mixed + large), 1);
  EXPECT_EQ(router_moves(device).bytes, 8);
}

/// Twice x, by a kernel that calls a function and puts its value in place of the result.
struct Doubling final : CustomOp {
  std::string name() const override { return "doubling"; }
  Descs infer(Inputs in) const override { return {{in[0].shape(), in[0].dtype()}}; }
  Values expand(Inputs) const override { return {}; }
  bool run(std::string_view, Call call) const override {
    call.out[0] = call.in[0] * 2;
    return true;
  }
};

TEST(Router, TakesTheValueThatAKernelPutsInPlaceOfItsResult) {
  const Device device = two_processors();
  const Value x = from_data(data_of({2}, {1, 2}), router_part(device, 1));
  const Value twice = emit(op::Custom{make_ref<Doubling>()}, {x});
  EXPECT_EQ(part_of(twice), 1);
  EXPECT_THAT(numbers_of(twice + 1), ElementsAre(3, 5));
}

TEST(Router, KeepsDataOfTheHostUntilTheyAreUsed) {
  const Device device = two_processors();
  const Value x = from_data(data_of({2}, {1, 2}), device);
  EXPECT_EQ(part_of(x), -1);
  EXPECT_THAT(numbers_of(x), ElementsAre(1, 2));
  const Value weight = full({2}, 2, router_part(device, 1), DType::F32);
  EXPECT_THAT(numbers_of(x * weight), ElementsAre(2, 4));
  EXPECT_EQ(part_of(x), 1);
  EXPECT_EQ(router_moves(device).count, 0);
  EXPECT_EQ(part_of(from_data(data_of({2}, {1, 2}), device) * 2), 0);
}

TEST(Router, ReadsDataOfTheHostAndLeavesThemThere) {
  const Device device = two_processors();
  const Value a = from_data(data_of({1}, {1}), device), b = full({1}, 2, router_part(device, 1), DType::F32),
              c = from_data(data_of({1}, {3}), device);
  const auto [first, second, third] = read(a, b, c);
  EXPECT_THAT((std::vector{first.at(0), second.at(0), third.at(0)}), ElementsAre(1, 2, 3));
  const auto [again, last] = read(c, a);
  EXPECT_THAT((std::vector{again.at(0), last.at(0)}), ElementsAre(3, 1));
  EXPECT_EQ(part_of(a), -1);
  EXPECT_EQ(part_of(c), -1);
}

TEST(Router, HasViewsWhereTheirValuesAre) {
  const Device device = two_processors();
  const Value x = to_device(from_data(data_of({1, 2}, {1, 2}), Device::cpu()), router_part(device, 0)) + 0;
  const Value w = full({3, 2}, 1, router_part(device, 1), DType::F32);
  EXPECT_EQ(part_of(x * w), 1);
  EXPECT_EQ(router_moves(device).count, 1);
  EXPECT_THAT(numbers_of(transpose(x) * full({2, 3}, 2, router_part(device, 1), DType::F32)),
              ElementsAre(2, 2, 2, 4, 4, 4));
  EXPECT_EQ(router_moves(device).count, 1);
}

TEST(Router, SharesTheMemoryOfPartsThatComputeOnTheProcessor) {
  const Device device = two_processors();
  Value x = full({1 << 18}, 3, router_part(device, 0), DType::F32) + 0;
  device.sync();
  const std::int64_t before = Device::cpu().memory().in_use;
  const Value there = to_device(x, router_part(device, 1));
  device.sync();
  EXPECT_EQ(Device::cpu().memory().in_use, before);
  EXPECT_EQ(router_moves(device).bytes, 1 << 20);
  // An operation that could write over its operand does not, as the other part has it too.
  x = exp(x * 0);
  for (int i = 0; i < 3; ++i) x = x + 1;
  EXPECT_EQ(numbers_of(x)[7], 4);
  EXPECT_EQ(numbers_of(there)[7], 3);
  const Value more = there * 2;
  x = {};
  EXPECT_EQ(numbers_of(more)[(1 << 18) - 1], 6);
  // A small part of a tensor does not keep the rest of it.
  Value part = to_device(narrow(full({1 << 18}, 5, Device::cpu(), DType::F32) + 0, 0, 8, 8), Device(plain_cpu()));
  EXPECT_LT(Device::cpu().memory().in_use, before + (1 << 19) + (1 << 20));
  EXPECT_EQ(numbers_of(part), std::vector<float>(8, 5));
}

TEST(Router, MovesWhatToDeviceAsksFor) {
  const Device device = two_processors();
  const Value x = full({2}, 3, router_part(device, 0), DType::F32), there = to_device(x, router_part(device, 1));
  EXPECT_EQ(part_of(there), 1);
  EXPECT_EQ(router_moves(device).count, 1);
  EXPECT_THAT(numbers_of(there), ElementsAre(3, 3));
  EXPECT_EQ(to_device(there, device).node(), there.node());
  EXPECT_EQ(to_device(there, router_part(device, 1)).node(), there.node());
  EXPECT_THAT(numbers_of(to_device(full({2}, 7, Device::cpu(), DType::F32), router_part(device, 1))),
              ElementsAre(7, 7));
  // What is made for a tensor is made where that is.
  EXPECT_EQ(part_of(zeros_like(there * 2)), 1);
}

TEST(Router, AsksAPolicyOfTheProgram) {
  std::vector<std::string> asked;
  const Device device = router({Device::cpu(), Device::parse("reference")}, [&](const RouteRequest& request) {
    std::string all(request.op);
    for (const RouteOperand& operand : request.operands) all += text(" ", operand.part, ":", operand.bytes);
    asked.push_back(all);
    EXPECT_EQ(request.allowed, 3u);
    return request.op == "matmul" ? 1 : 0;
  });
  const Value a = from_data(data_of({2, 2}, {1, 2, 3, 4}), device), product = matmul(a, a) + 1;
  EXPECT_THAT(numbers_of(product), ElementsAre(8, 11, 16, 23));
  EXPECT_THAT(asked, ElementsAre("matmul -1:16 -1:16", "add 1:16"));
  EXPECT_EQ(part_of(a), 1);
  EXPECT_EQ(part_of(product), 0);
}

TEST(Router, ComposesAnOperationWhereItsOperandsAre) {
  const Device device = Device::router({Device(make_ref<FewKernels>(plain_cpu(), true)), Device::cpu()});
  const Value x = from_data(data_of({3}, {3, 1, 2}), router_part(device, 0));
  const Value shares = softmax(x, 0);
  EXPECT_EQ(part_of(shares), 0);
  EXPECT_EQ(router_moves(device).count, 0);
  const double total = std::exp(3.) + std::exp(1.) + std::exp(2.);
  EXPECT_NEAR(shares.data().at(0), std::exp(3.) / total, 1e-6);
  // Sorting is made of nothing else, so it runs where there is a kernel.
  const Value sorted = sort(x, 0).values;
  EXPECT_THAT(numbers_of(sorted), ElementsAre(1, 2, 3));
  EXPECT_EQ(part_of(sorted), 1);
  EXPECT_EQ(router_moves(device).count, 1);
}

TEST(Router, GivesAllResultsOfAnOperation) {
  const Device device = two_processors();
  const auto [values, indices] = sort(from_data(data_of({3}, {3, 1, 2}), router_part(device, 1)), 0);
  EXPECT_THAT(numbers_of(values + full({3}, 1, router_part(device, 0), DType::F32)), ElementsAre(2, 3, 4));
  EXPECT_EQ(part_of(indices), 1);
  EXPECT_THAT(indices.data().to_vector<int>(), ElementsAre(1, 2, 0));
}

TEST(Router, DrawsTheRandomNumbersOfOneDevice) {
  const Device device = two_processors();
  std::vector<float> drawn[2];
  for (const Device& each : {Device::cpu(), device}) {
    each.seed(17);
    const Value x = uniform({8}, 0, 1, each);
    drawn[each == device] = numbers_of(x + dropout(ones({8}, each, DType::F32), 0.5) + uniform({8}, -1, 1, each));
  }
  EXPECT_EQ(drawn[0], drawn[1]);
}

TEST(Router, MayHaveOnePartOrARouterForAPart) {
  const Device one = Device::router({Device::cpu()});
  EXPECT_THAT(numbers_of(from_data(data_of({2}, {1, 2}), one) * 2), ElementsAre(2, 4));
  EXPECT_EQ(one.name(), "router:cpu");

  const Device inner = two_processors(), outer = Device::router({inner, Device::parse("reference")});
  EXPECT_EQ(router_parts(outer).size(), 2u);
  const Value a = from_data(data_of({2}, {1, 2}), router_part(outer, 0));
  const Value b = full({2, 2}, 3, router_part(outer, 1), DType::F32), product = a * b;
  EXPECT_THAT(numbers_of(product), ElementsAre(3, 6, 3, 6));
  EXPECT_EQ(part_of(product), 1);
}

TEST(Router, HasAName) {
  const Device device = Device::parse("router:cpu,reference");
  EXPECT_EQ(device.name(), "router:cpu,reference");
  EXPECT_EQ(Device::parse("router:cpu,reference"), device);
  EXPECT_EQ(kind_of_device("router:cpu,reference"), DeviceKind::Other);
  EXPECT_FALSE(Device::router({Device::cpu(), Device::parse("reference")}) == device);
}

TEST(Router, ComputesWithThePrecisionOfItsParts) {
  using Level = Float32Precision::Level;
  const Device cpu = Device::cpu(), reference = Device::parse("reference"), device = Device::router({cpu, reference});
  EXPECT_EQ(Float32Precision::of(device), Level::Highest);
  Float32Precision::set(reference, Level::High);
  EXPECT_EQ(Float32Precision::of(device), Level::High);
  Float32Precision::set(device, Level::Highest);
  EXPECT_EQ(Float32Precision::of(reference), Level::Highest);
  Float32Precision::set(device, Level::High);
  EXPECT_EQ(Float32Precision::of(cpu), Level::High);
  Float32Precision::set(device, Level::Highest);
}

TEST(Router, SumsTheMemoryOfItsParts) {
  const Device simulated = Device::parse("simulated"), device = Device::router({Device::cpu(), simulated});
  const Value a = full({256}, 1, router_part(device, 0), DType::F32),
              b = full({512}, 1, router_part(device, 1), DType::F32);
  device.sync();
  const MemoryStatistics whole = device.memory(), cpu = Device::cpu().memory(), gpu = simulated.memory();
  EXPECT_EQ(whole.in_use, cpu.in_use + gpu.in_use);
  EXPECT_EQ(whole.results, cpu.results + gpu.results);
  EXPECT_EQ(whole.requests, cpu.requests + gpu.requests);
  EXPECT_GE(gpu.results, 2048);
}

TEST(Router, DifferentiatesOverItsParts) {
  const Device device = two_processors().autodiff();
  const Value x = from_data(data_of({3}, {1, 2, 3}), router_part(device, 0)).require_grad();
  const Value w = from_data(data_of({3}, {2, 3, 4}), router_part(device, 1)).require_grad();
  const Value loss = sum((x * w) * (x * w));  // its gradients: 2 x w^2 and 2 x^2 w
  const Gradients gradients = backward(loss);
  EXPECT_THAT(numbers_of(gradients.of(x)), ElementsAre(8, 36, 96));
  EXPECT_THAT(numbers_of(gradients.of(w)), ElementsAre(4, 24, 72));
}

TEST(Router, ComputesAGradientWhereTheOperationRan) {
  const Device device = two_processors();
  const Value x = full({2}, 3, router_part(device, 0), DType::F32);
  Value y;
  {
    const Beside where(Device::Place{.part = 1});
    y = x * 2;
  }
  EXPECT_EQ(part_of(y), 1);
  EXPECT_THAT(numbers_of(y), ElementsAre(6, 6));
  EXPECT_EQ(router_moves(device).count, 1);
  EXPECT_EQ(part_of(x * 2), 0);
}

TEST(Router, IsCapturedAndReplayed) {
  const Device device = two_processors();
  const Value w = from_data(data_of({2, 2}, {1, 2, 3, 4}), router_part(device, 1));
  const Value x = from_data(data_of({1, 2}, {1, 1}), device);
  const Graph graph = capture_graph([&](const Values& in) { return Values{matmul(in[0], w) + 1}; }, {&x, 1});
  const Value other = from_data(data_of({1, 2}, {1, 2}), device), result = graph.replay({&other, 1})[0];
  EXPECT_THAT(numbers_of(result), ElementsAre(8, 11));
  EXPECT_EQ(part_of(result), 1);
}

TEST(Router, IsProfiledByItsParts) {
  const Profile profile(two_processors());
  const Value x = full({2}, 1, router_part(profile.device(), 1), DType::F32) + 1;
  EXPECT_THAT(numbers_of(x), ElementsAre(2, 2));
  EXPECT_FALSE(profile.rows().empty());
}

TEST(Router, MayBeUsedByThreads) {
  const Device device = Device::router({Device::cpu(), Device::parse("reference"), Device::parse("simulated")});
  const Value shared = from_data(data_of({2}, {1, 2}), device),
              placed = full({2}, 3, router_part(device, 1), DType::F32);
  std::vector<std::thread> threads;
  std::vector<std::vector<float>> found(4);
  for (std::size_t i = 0; i < found.size(); ++i)
    threads.emplace_back([&, i] {
      Value x = shared;
      for (int step = 0; step < 20; ++step) {
        x = x + placed * full({2}, static_cast<double>(i), router_part(device, static_cast<int>(i) % 3), DType::F32);
        x = x - placed;
      }
      found[i] = numbers_of(x);
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < found.size(); ++i) {
    const float moved = 60.f * (static_cast<float>(i) - 1);
    EXPECT_THAT(found[i], ElementsAre(1 + moved, 2 + moved));
  }
}

}  // namespace
}  // namespace kiln::test
