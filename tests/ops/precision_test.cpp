// Which precision each op is called with: in scopes, by devices, backwards, fused, captured, and in other threads.
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "kiln/autodiff/backward.hpp"
#include "kiln/autodiff/checkpoint.hpp"
#include "kiln/backend/capture/graph.hpp"
#include "kiln/backend/capture/graph_wire.hpp"
#include "kiln/backend/inspect/verify.hpp"
#include "kiln/fusion/fusion.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/precision.hpp"
#include "kiln/ops/product/linear.hpp"
#include "kiln/ops/scope/autocast.hpp"
#include "kiln/ops/sequence/attention.hpp"
#include "kiln/ops/sequence/recurrent.hpp"
#include "kiln/ops/spatial/conv.hpp"
#include "kiln/tensor/custom.hpp"
#include "kiln/wire/op_wire.hpp"
#include "tests/support/forwarding.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using Precision = Float32Precision;
using Level = Precision::Level;
using Heard = std::map<std::string, std::set<Level>, std::less<>>;
const std::set<Level> kOnlyHigh{Level::High}, kOnlyHighest{Level::Highest};

Ref<Backend> plain() {
  Ref<Backend> core;
  Device::cpu().backend().with_core([&](Ref<Backend> found) { return core = std::move(found); });
  return core;
}

/// A processor that notes the precision of each op that has one, and runs what `composes` says by its expansion.
class Listening final : public test::Forwarding {
 public:
  explicit Listening(std::string_view composes = "") : Forwarding(plain()), composes_(composes) {}
  bool has_kernel(const op::Op& op) const override { return op::name(op) != composes_ && inner_->has_kernel(op); }
  void run(const op::Op& op, Call call) override {
    if (const Level level = op::precision_of(op); level != Level::OfDevice) {
      const std::lock_guard lock(mutex_);
      heard_[std::string(op::name(op))].insert(level);
    }
    inner_->run(op, call);
  }
  Heard take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(heard_, {});
  }

 private:
  const std::string composes_;
  std::mutex mutex_;
  Heard heard_;
};

/// A device's setting, which ends with this object: the processor below all devices of these tests is one.
struct Setting {
  const Device device;
  Setting(const Device& on, Level level) : device(on) { Precision::set(on, level); }
  ~Setting() { Precision::set(device, Level::Highest); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;
};

Value random_tensor(const Device& device, const Shape& shape, std::uint64_t seed, DType dtype = DType::F32) {
  return normal(shape, 0, 1, device.autodiff(), dtype, Key{seed});
}

void expect_all(const Heard& heard, const std::set<Level>& level) {
  EXPECT_FALSE(heard.empty());
  for (const auto& [name, levels] : heard) EXPECT_EQ(levels, level) << name;
}

/// Something of all that multiplies float32.
struct Operands {
  Value x, image, filter, heads, weight, gates, states;
  explicit Operands(const Device& device)
      : x(random_tensor(device, {4, 8}, 1)),
        image(random_tensor(device, {2, 3, 6, 6}, 2)),
        filter(random_tensor(device, {4, 3, 3, 3}, 3)),
        heads(random_tensor(device, {1, 2, 5, 4}, 4)),
        weight(random_tensor(device, {6, 8}, 5)),
        gates(random_tensor(device, {8, 8}, 6)),
        states(random_tensor(device, {8, 2}, 7)) {
    for (Value* const each : {&x, &image, &filter, &heads, &weight, &gates, &states}) *each = each->require_grad();
  }
  Value loss() const {
    const Value product = relu(linear(x, weight) + 1.0);
    const Value back = conv_transpose(conv(image, filter, {}), filter, {});
    const Value attended = attention(heads, heads, heads);
    const Value outputs = lstm(unsqueeze(x, 0), {gates, states, {}, {}}).outputs;
    return sum(square(product)) + sum(square(back)) + sum(square(attended)) + sum(square(outputs));
  }
};

/// The processor by itself, and fused.
std::vector<std::pair<Ref<Listening>, Device>> devices_that_listen() {
  const auto alone = make_ref<Listening>(), fused = make_ref<Listening>();
  return {{alone, Device(alone)}, {fused, Device(make_ref<fusion::Fusion>(fused))}};
}

TEST(Float32Precision, ReachesEachProductAndItsGradients) {
  for (const auto& [listening, device] : devices_that_listen()) {
    const Operands in(device);
    (void)listening->take();
    for (const Level level : {Level::High, Level::Highest}) {
      Value loss;
      {
        const Precision scope(level);
        loss = in.loss();
      }
      // The gradients' products are those of the scope in which the forward ones were called.
      const Precision other(level == Level::High ? Level::Highest : Level::High);
      const Gradients gradients = backward(loss, {.create_graph = true});
      const Value again = sum(square(gradients.of(in.weight))) + sum(square(gradients.of(in.filter)));
      (void)again.data();
      (void)backward(again).of(in.image).data();
      device.sync();
      const Heard heard = listening->take();
      expect_all(heard, {level});
      const bool fused = device.handle() != Ref<Backend>(listening);
      for (const char* const name : {"matmul", "conv_transpose", "conv_weight_grad"})
        EXPECT_TRUE(heard.contains(name)) << name;
      EXPECT_TRUE(heard.contains("conv") || heard.contains("epilogue"));
      EXPECT_EQ(heard.contains("epilogue"), fused);
    }
  }
}

TEST(Float32Precision, IsTheScopesBeforeTheDevices) {
  const auto listening = make_ref<Listening>();
  const Device device(make_ref<fusion::Fusion>(listening));
  const Value x = random_tensor(device, {3, 3}, 1);
  const auto heard_by = [&] {
    (void)matmul(x, x).data();
    return listening->take()["matmul"];
  };
  EXPECT_EQ(Precision::of(device), Level::Highest);
  EXPECT_EQ(Precision::said(), Level::OfDevice);
  EXPECT_EQ(heard_by(), kOnlyHighest);
  const Setting setting(device, Level::High);
  EXPECT_EQ(Precision::of(device), Level::High);
  EXPECT_EQ(Precision::of(Device(listening)), Level::High) << "a decorator and its core have one setting";
  EXPECT_EQ(heard_by(), kOnlyHigh);
  {
    const Precision exact(Level::Highest);
    EXPECT_EQ(heard_by(), kOnlyHighest);
    {
      const Precision of_device(Level::OfDevice);
      EXPECT_EQ(heard_by(), kOnlyHigh);
    }
    EXPECT_EQ(heard_by(), kOnlyHighest);
    std::set<Level> elsewhere;
    std::thread([&] { elsewhere = heard_by(); }).join();
    EXPECT_EQ(elsewhere, kOnlyHigh) << "threads do not see each other's scopes";
  }
  EXPECT_EQ(sentence_of([&] { Precision::set(device, Level::OfDevice); }),
            "ArgumentError: Float32Precision::set: a device computes with Highest or High precision");
  EXPECT_EQ(Precision::of(device), Level::High);
}

TEST(Float32Precision, IsOfFloat32Alone) {
  const auto listening = make_ref<Listening>();
  const Device device(listening);
  const Precision scope(Level::High);
  for (const DType dtype : {DType::F64, DType::F16, DType::BF16}) {
    const Value x = random_tensor(device, {3, 3}, 1, dtype);
    (void)matmul(x, x).data();
  }
  const Autocast half(DType::BF16);
  const Value x = random_tensor(device, {3, 3}, 1);
  (void)matmul(x, x).data();
  EXPECT_EQ(listening->take(), Heard());
}

TEST(Float32Precision, IsThatOfTheFirstRunWhereAFunctionRunsAgain) {
  const auto listening = make_ref<Listening>();
  const Device device(listening);
  const Value x = random_tensor(device, {3, 3}, 1).require_grad();
  Value loss;
  {
    const Precision scope(Level::High);
    loss = sum(checkpoint([](const Value& in) { return matmul(in, in); }, x));
  }
  expect_all(listening->take(), kOnlyHigh);
  (void)backward(loss).of(x).data();
  expect_all(listening->take(), kOnlyHigh);
}

TEST(Float32Precision, StaysWithAGraph) {
  const auto listening = make_ref<Listening>();
  const Device device(listening);
  const Value x = random_tensor(device, {3, 3}, 1).detach();
  const auto square_of = [](const Values& in) { return Values{matmul(in[0], in[0])}; };
  const Graph exact = capture_graph(square_of, {&x, 1});
  const Graph fast = [&] {
    const Precision scope(Level::High);
    return capture_graph(square_of, {&x, 1});
  }();
  const Graph by_setting = [&] {
    const Setting setting(device, Level::High);
    return capture_graph(square_of, {&x, 1});
  }();
  EXPECT_EQ(text(by_setting), text(fast));
  EXPECT_NE(text(fast).find("matmul(%0, %0, precision=High)"), std::string::npos) << text(fast);
  EXPECT_EQ(text(exact).find("precision"), std::string::npos) << text(exact);
  wire::Writer out;
  write_graph(out, fast);
  const auto bytes = out.take();
  wire::Reader in("a.kiln", bytes);
  const Graph read = read_graph(in, device, [](std::uint64_t, const GraphConstant&) { return Value(); });
  (void)listening->take();
  for (const Level around : {Level::OfDevice, Level::Highest, Level::High}) {
    const Precision scope(around);
    (void)exact.replay({&x, 1})[0].data();
    expect_all(listening->take(), kOnlyHighest);
    (void)fast.replay({&x, 1})[0].data();
    (void)read.replay({&x, 1})[0].data();
    expect_all(listening->take(), kOnlyHigh);
  }
}

// ---- operations that are made of others ----------------------------------------------------------------------------

/// A product with a gradient of its own.
struct Own {
  Desc infer(Inputs in) const { return like(in[0]); }
  Value expand(Inputs in) const { return matmul(in[0], in[1]); }
  Values vjp(Inputs in, Inputs, Inputs grad) const {
    return {matmul(grad[0], transpose(in[1])), matmul(transpose(in[0]), grad[0])};
  }
};

TEST(Float32Precision, IsThatOfAnOperationOfOnesOwn) {
  for (const auto& [listening, device] : devices_that_listen()) {
    const Value x = random_tensor(device, {3, 3}, 1).require_grad();
    (void)listening->take();
    Value loss, other;
    {
      const Precision scope(Level::High);
      loss = sum(custom_all(Own{}, x, x)[0]);
    }
    other = sum(custom_all(Own{}, x, x)[0]);  // of the same segment where it waits
    (void)loss.data();
    (void)backward(loss).of(x).data();
    Heard heard = listening->take();
    EXPECT_EQ(heard["custom"].count(Level::High), 1u);
    (void)other.data();
    (void)listening->take();
    (void)backward(other).of(x).data();
    expect_all(listening->take(), kOnlyHighest);
  }
  const op::Op sent = op::Custom{make_ref<const UserOpFace<Own>>(Own{}), Level::High};
  EXPECT_FALSE(sent == op::Op(op::Custom{std::get<op::Custom>(sent.is).op, Level::Highest}));
}

// What runs later, in a scope of whoever reads it.
TEST(Float32Precision, IsThatOfAnExpansionThatRunsLater) {
  const auto listening = make_ref<Listening>("attention");
  const Device device(make_ref<fusion::Fusion>(listening));
  const Value heads = random_tensor(device, {1, 2, 5, 4}, 4).detach();
  for (const Level level : {Level::High, Level::Highest}) {
    Value result;
    {
      const Precision scope(level);
      result = attention(heads, heads, heads);
    }
    const Precision other(level == Level::High ? Level::Highest : Level::High);
    (void)result.data();
    expect_all(listening->take(), {level});
  }
}

// A convolution of integers may be made of a product of floats, which must be exact.
TEST(Float32Precision, IsTheHighestWhereAnOperationHasNone) {
  const auto listening = make_ref<Listening>("matmul_integer");
  const Device device(listening);
  const Setting setting(device, Level::High);
  const Value x = from_data(TensorData::of<std::int8_t>({2, 2}, {1, 2, 3, 4}), device);
  const Precision scope(Level::High);
  (void)emit(op::MatmulInteger{}, {x, x}).data();
  for (const auto& [name, levels] : listening->take()) EXPECT_EQ(levels, kOnlyHighest) << name;
}

// ---- what checks programs ------------------------------------------------------------------------------------------

/// A device that rounds the operands of products to TF32 where it may, and where it `lies` always.
class Rounding final : public test::Forwarding {
 public:
  explicit Rounding(bool lies) : Forwarding(plain()), lies_(lies) {}
  void run(const op::Op& op, Call call) override {
    if (!std::holds_alternative<op::Matmul>(op.is) || (op::precision_of(op) != Level::High && !lies_))
      return inner_->run(op, call);
    Values in;
    for (const Value& value : call.in) {
      TensorData data = inner_->download(value);
      for (float& number : data.as<float>()) {
        const float coarse = number * 8193.0f;  // 11 bits are left (Dekker)
        number = coarse - (coarse - number);
      }
      in.emplace_back(inner_->upload(data, value.device()));
    }
    inner_->run(op, {in, call.out});
  }

 private:
  const bool lies_;
};

TEST(Float32Precision, IsWhatVerifyAllowsFor) {
  const auto run = [](bool lies, Level level) {
    const Verify verify(Device(make_ref<Rounding>(lies)), {.reference = Device::parse("reference")});
    const Value x = random_tensor(verify.device(), {40, 40}, 1).detach();
    const Precision scope(level);
    return sentence_of([&] { (void)matmul(x, x).data(); });
  };
  EXPECT_EQ(run(false, Level::High), "");
  EXPECT_EQ(run(false, Level::Highest), "");
  EXPECT_NE(run(true, Level::Highest).find("VerifyError"), std::string::npos);
  const auto fused = [](bool lies, Level level) {
    const Verify verify(Device(make_ref<fusion::Fusion>(make_ref<Rounding>(lies))),
                        {.reference = Device::parse("reference")});
    const Value x = random_tensor(verify.device(), {40, 40}, 1).detach();
    const Precision scope(level);
    return sentence_of([&] { (void)exp(matmul(x, x) * 0.01).data(); });
  };
  EXPECT_EQ(fused(false, Level::High), "");
  EXPECT_NE(fused(true, Level::Highest).find("VerifyError"), std::string::npos);
}

}  // namespace
}  // namespace kiln
