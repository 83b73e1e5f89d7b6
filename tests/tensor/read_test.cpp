// Reading without waiting, on a device that takes its time.
#include "kiln/ops/read.hpp"

#include <gtest/gtest.h>

#include <coroutine>

#include "kiln/ops/op.hpp"
#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/create.hpp"
#include "tests/support/forwarding.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

/// A processor whose data arrive when the test says so.
class Slow final : public test::Forwarding {
 public:
  std::string name() const override { return "slow"; }
  Ref<PendingRead> start_read(Inputs values) override {
    ++reads;
    last = make_ref<Pending>();
    for (const Value& value : values) last->data.push_back(download(value));
    return last;
  }

  struct Pending : PendingRead {
    bool ready() const override { return arrived; }
    std::vector<TensorData> wait() override {
      arrived = true;
      return std::move(data);
    }
    void notify(Wakeup call) override { then = call; }
    void arrive() {
      arrived = true;
      if (then.call) then();
    }
    bool arrived = false;
    std::vector<TensorData> data;
    Wakeup then;
  };
  int reads = 0;
  Ref<Pending> last;
};

struct Fixture {
  Ref<Slow> backend = make_ref<Slow>();
  Device device{backend};
};

TEST(Reading, GoesOnWhileDataAreUnderWay) {
  Fixture slow;
  const auto x = full({2}, 3, slow.device);
  Future<TensorData> future = x.read_async();
  EXPECT_FALSE(future.ready());
  const auto y = x + 1;  // more work meanwhile
  slow.backend->last->arrive();
  EXPECT_TRUE(future.ready());
  EXPECT_EQ(future.get().to_vector<float>(), (std::vector<float>{3, 3}));
  EXPECT_EQ(y.sum().item_async().get(), 8);
  EXPECT_EQ(sentence_of([&] { return future.get(); }), "ArgumentError: a future was taken twice");
}

TEST(Reading, AnItemIsTheOnlyElementOfAnyRank) {
  const Device cpu = Device::cpu();
  EXPECT_EQ((Tensor<2>::of({{2.5}}, cpu).item()), 2.5f);
  EXPECT_EQ((full<Int>({1, 1, 1}, 7, cpu).item_async().get()), 7);
  EXPECT_EQ((full({1}, 0.25, cpu).to(DType::F64).item<double>()), 0.25);
  const auto many = zeros({2, 3}, cpu);
  const std::string sentence =
      "ShapeError: item: float32 [2, 3] has 6 elements, not one: index the one you want first, or read all by "
      "to_vector()";
  EXPECT_EQ(sentence_of([&] { return many.item(); }), sentence);
  EXPECT_EQ(sentence_of([&] { return many.item_async(); }), sentence);
  EXPECT_THROW(zeros({0}, cpu).item(), ShapeError);
}

TEST(Reading, TakesSeveralValuesInOneSynchronisation) {
  Fixture slow;
  const auto x = full({2}, 3, slow.device);
  const auto y = full<Int>({1, 1}, 7, slow.device);
  const Value z = full(Shape(), 1.5, Device::cpu());
  const auto [a, b, c] = read(x, y, z);
  EXPECT_EQ(slow.backend->reads, 1);
  EXPECT_EQ(a.to_vector<float>(), (std::vector<float>{3, 3}));
  EXPECT_EQ(b.to_vector<int>(), std::vector<int>{7});
  EXPECT_EQ(c.to_vector<float>(), std::vector<float>{1.5});

  const std::vector<Value> list = {y.value(), 2.5, z, x.value()};
  const std::vector<TensorData> all = read(list);
  EXPECT_EQ(slow.backend->reads, 2);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].at(0), 7);
  EXPECT_EQ(all[1].at(0), 2.5);
  EXPECT_EQ(all[2].at(0), 1.5);
  EXPECT_EQ(all[3].at(1), 3);
  EXPECT_TRUE(read(std::vector<Value>{}).empty());
  EXPECT_EQ(sentence_of([] { return read(std::vector<Value>{1, Value()}); }), "ArgumentError: read: value 1 is empty");
}

TEST(Reading, IsReadyAtOnceOnTheProcessor) {
  const auto x = full({2}, 3, Device::cpu());
  EXPECT_TRUE(read_async(x, x).ready());
}

/// The least that a coroutine needs.
struct Task {
  struct promise_type {
    Task get_return_object() { return {}; }
    std::suspend_never initial_suspend() { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

Task add_up(const Tensor<1>& x, const Tensor<1>& y, double& sum) {
  const auto [a, b] = co_await read_async(x, y);
  sum = a.at(0) + b.at(0);
}

TEST(Reading, ResumesTheCoroutineThatAwaitsIt) {
  Fixture slow;
  double sum = 0;
  add_up(full({1}, 3, slow.device), full({1}, 4, Device::cpu()), sum);
  EXPECT_EQ(sum, 0);
  slow.backend->last->arrive();
  EXPECT_EQ(sum, 7);
  add_up(full({1}, 1, Device::cpu()), full({1}, 1, Device::cpu()), sum);  // nothing to wait for
  EXPECT_EQ(sum, 2);
}

}  // namespace
}  // namespace kiln
