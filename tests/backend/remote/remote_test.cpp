// A remote device computes what the device behind it computes, and tells errors as that one does.
#include "kiln/backend/remote/remote.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "kiln/ops/functions.hpp"
#include "kiln/ops/index/index.hpp"
#include "kiln/ops/read.hpp"
#include "kiln/ops/scope/no_grad.hpp"
#include "tests/backend/remote/hosted_pair.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using test::remote_device;
using test::remote_of;

Value numbers(const Device& device, std::vector<float> values) {
  const auto size = static_cast<std::int64_t>(values.size());
  return from_data(TensorData::of<float>({size}, values), device);
}
std::vector<float> floats(const Value& value) { return value.data().to_vector<float>(); }

TEST(Remote, ComputesWhatItsServerDoes) {
  remote::Host host({Device::cpu()});
  const Device device = remote_device(host);
  EXPECT_EQ(device.name(), "remote:this program");
  EXPECT_EQ(remote_of(device).lent_device(), "cpu");
  const Value x = numbers(device, {1, 2, 3, 4});
  const Value y = x * 2 + 1;
  EXPECT_EQ(floats(y), (std::vector<float>{3, 5, 7, 9}));
  EXPECT_EQ(floats(y - x), (std::vector<float>{2, 3, 4, 5}));
  EXPECT_EQ(sum(y).item(), 24);
}

TEST(Remote, KeepsTensorsThatTravelInPieces) {
  remote::Host host({Device::cpu()});
  const Device device = remote_device(host);
  TensorData data(Shape{1000, 1001}, DType::F32);
  std::int64_t n = 0;
  for (float& each : data.as<float>()) each = static_cast<float>(n++ % 9973);
  const TensorData expected = data;
  const Value x = from_data(std::move(data), device);
  EXPECT_EQ(difference(x.data(), expected, {0, 0}), "");
  EXPECT_EQ(numel((x + 1).shape()), 1001000);
  for (const Shape& shape : {Shape{0}, Shape{}, Shape{3, 0, 2}})
    EXPECT_EQ(from_data(TensorData(shape, DType::I64), device).data().shape(), shape);
}

TEST(Remote, SendsAFormOnceAndFewBytesForACall) {
  remote::Host host({Device::cpu()});
  const Device device = remote_device(host);
  Value x = numbers(device, {1, 2, 3, 4});
  const auto steps = [&] {
    for (int i = 0; i < 100; ++i) x = x * 1.5 - x;
    (void)x.data();
  };
  steps();
  const remote::ClientCounters before = remote_of(device).counters();
  steps();
  const remote::ClientCounters after = remote_of(device).counters();
  EXPECT_EQ(after.calls - before.calls, 200);
  EXPECT_EQ(after.forms, before.forms);
  EXPECT_LT(after.bytes_sent - before.bytes_sent, 200u * 30);
}

// A number and a tensor of rank 0 have forms of their own.
TEST(Remote, TellsNumbersFromTensorsOfRankZero) {
  remote::Host host({Device::cpu()});
  const Device device = remote_device(host);
  const Value x = full({2}, 3, device, DType::F64), y = full({}, 4, device, DType::F64);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(floats(x + 2.0), (std::vector<float>{5, 5}));
    EXPECT_EQ(floats(x + y), (std::vector<float>{7, 7}));
  }
}

TEST(Remote, FreesWhatItsClientFrees) {
  remote::Host host({Device::cpu()});
  const Device device = remote_device(host);
  {
    const Value x = numbers(device, {1, 2, 3, 4});
    for (int i = 0; i < 50; ++i) (void)(x + i);
    device.sync();
    EXPECT_LE(host.counters().sessions.at(0).tensors, 1);
  }
  device.sync();
  EXPECT_EQ(host.counters().sessions.at(0).tensors, 0);
  EXPECT_EQ(host.counters().sessions.at(0).bytes_held, 0);
}

/// Notes the longest message that a client sends.
class Measured final : public net::Connection {
 public:
  Measured(std::unique_ptr<net::Connection> inner, std::shared_ptr<std::atomic<std::size_t>> longest)
      : inner_(std::move(inner)), longest_(std::move(longest)) {}
  void send(std::span<const std::byte> message) override {
    *longest_ = std::max<std::size_t>(*longest_, message.size());  // one thread sends at a time
    inner_->send(message);
  }
  std::optional<net::Message> receive() override { return inner_->receive(); }
  void close() noexcept override { inner_->close(); }
  std::string peer() const override { return inner_->peer(); }

 private:
  const std::unique_ptr<net::Connection> inner_;
  const std::shared_ptr<std::atomic<std::size_t>> longest_;
};

// Millions at once would otherwise make a message that no server takes.
TEST(Remote, FreesManyValuesInManyMessages) {
  remote::Host host({Device::cpu()}, {.limits = {.tensors = 20'000}});
  const auto longest = std::make_shared<std::atomic<std::size_t>>(0);
  const test::Dialer dialer{&host};
  const Device device(
      make_ref<remote::Remote>([dialer, longest] { return std::make_unique<Measured>(dialer(), longest); }));
  const Value x = numbers(device, {1, 2});
  std::vector<Value> many;
  for (int i = 0; i < 15'000; ++i) many.push_back(x + 1);
  device.sync();
  EXPECT_EQ(host.counters().sessions.at(0).tensors, 15'001);
  many.clear();
  device.sync();
  EXPECT_EQ(host.counters().sessions.at(0).tensors, 1);
  EXPECT_LT(*longest, 10'000u);  // in one message they would take 45,000 bytes
  EXPECT_EQ(floats(x + 1), (std::vector<float>{2, 3}));
}

TEST(Remote, TellsErrorsOfDataWhereTheyAreRead) {
  remote::Host host({Device::cpu()});
  const Device device = remote_device(host);
  const Value table = numbers(device, {1, 2, 3});
  const Value wrong = from_data(TensorData::of<std::int64_t>({2}, {1, 7}), device);
  const Device cpu = Device::cpu();
  const std::string local = sentence_of([&] {
    (void)index_select(numbers(cpu, {1, 2, 3}), 0, from_data(TensorData::of<std::int64_t>({2}, {1, 7}), cpu)).data();
  });
  const Value read = index_select(table, 0, wrong);
  EXPECT_EQ(sentence_of([&] { (void)(read + 1).data(); }), local);
  EXPECT_NO_THROW(device.sync());  // it was thrown
  (void)index_select(table, 0, wrong);
  EXPECT_EQ(sentence_of([&] { device.sync(); }), local);
  EXPECT_NO_THROW(device.sync());
  EXPECT_EQ(floats(table + 1), (std::vector<float>{2, 3, 4}));  // the session goes on
}

TEST(Remote, TellsNobodyElseTheErrorsOfAClientThatHasGone) {
  remote::Host host({Device::cpu()});
  const Device stays = remote_device(host);
  {
    const Device goes = remote_device(host);
    const Value wrong = from_data(TensorData::of<std::int64_t>({2}, {1, 7}), goes);
    (void)index_select(numbers(goes, {1, 2, 3}), 0, wrong);
    goes.flush();
  }
  for (int i = 0; i < 500 && host.counters().sessions.size() > 1; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(host.counters().sessions.size(), 1u);
  EXPECT_NO_THROW(stays.sync());
  EXPECT_NO_THROW(Device::cpu().sync());
}

TEST(Remote, HasTheRandomNumbersOfItsServersDevice) {
  remote::Host host({Device::cpu()});
  const Device device = remote_device(host);
  device.seed(7);
  Device::cpu().seed(7);
  EXPECT_EQ(floats(uniform({5}, 0, 1, device)), floats(uniform({5}, 0, 1, Device::cpu())));
}

TEST(Remote, AnswersQuestionsAboutMemory) {
  remote::Host host({Device::cpu()});
  const Device device = remote_device(host);
  const Value x = zeros({1000, 1000}, device);
  device.sync();
  EXPECT_GE(device.memory().in_use, 4'000'000);
  device.set_memory_limit(5'000'000);
  EXPECT_EQ(device.memory().limit, 5'000'000);
  const Value more = zeros({1000, 1000}, device);
  EXPECT_EQ(sentence_of([&] { (void)more.data(); }),
            "MemoryError: the session on the server may hold 4.7 MiB; it holds 3.8 MiB and asks for 3.8 MiB more: free "
            "tensors, or ask for a larger limit there");
}

TEST(Remote, ThreadsShareADevice) {
  remote::Host host({Device::cpu()});
  const Device device = remote_device(host);
  const Value shared = numbers(device, {1, 2});
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Value x = shared;
      for (int i = 0; i < 200; ++i) x = x + t;
      right += floats(x) == std::vector<float>{static_cast<float>(1 + 200 * t), static_cast<float>(2 + 200 * t)};
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 4);
}

}  // namespace
}  // namespace kiln
