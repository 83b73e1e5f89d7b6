// What a server lets its clients take: rates, times, connections that say nothing; and that nobody keeps others from their
// turn.
#include <gtest/gtest.h>

#include <thread>

#include "kiln/backend/remote/pace.hpp"
#include "kiln/ops/functions.hpp"
#include "tests/backend/remote/hosted_pair.hpp"
#include "tests/backend/remote/raw_client.hpp"
#include "tests/support/long.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using remote::Entry;
using test::RawClient;

template <class Condition>
bool comes_true(Condition condition) {
  for (int i = 0; i < 2000 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return condition();
}

TEST(Pace, LetsARateThrough) {
  using namespace std::chrono_literals;
  const auto start = std::chrono::steady_clock::now();
  remote::Pace pace(1000);
  EXPECT_EQ(pace.next(500, start), start + 500ms);
  EXPECT_EQ(pace.next(500, start + 100ms), start + 1000ms);   // it came too early
  EXPECT_EQ(pace.next(500, start + 9000ms), start + 9500ms);  // silence is not saved up
  EXPECT_EQ(remote::Pace(0).next(1 << 30, start), start);
}

TEST(Limits, AClientThatSendsTooFastWaitsAlone) {
  remote::Host host({Device::cpu()}, {.limits = {.bytes_per_second = 1}});
  RawClient fast(host);
  fast.hello();
  for (int i = 0; i < 3; ++i)
    fast.work([](wire::Writer& out) { test::write_upload(out, {Shape{25'000}, DType::F32}, 100'000); });
  EXPECT_TRUE(comes_true([&] {
    const remote::HostCounters now = host.counters();
    return !now.sessions.empty() && now.sessions[0].frames == 1;
  }));
  // Another client's first frame is taken while that one waits for a day, and the host ends meanwhile.
  RawClient other(host);
  other.hello();
  other.work([](wire::Writer& out) { remote::begin(out, Entry::Flush); });
  EXPECT_TRUE(comes_true([&] {
    const remote::HostCounters now = host.counters();
    return now.sessions.size() == 2 && now.sessions[1].frames == 1;
  }));
  EXPECT_EQ(host.counters().sessions[0].frames, 1);
}

TEST(Limits, SecondsOfComputingEndASessionAndNoOther) {
  remote::Host host({Device::cpu()}, {.limits = {.seconds = 1e-6}});
  const Device device = test::remote_device(host);
  const std::string said = sentence_of([&] {
    (void)full({1000}, 1, device, DType::F32).data();
    device.sync();
  });
  EXPECT_NE(
      said.find("this session has computed for 1e-06 seconds, which is what the server allows: connect again for a "
                "new one"),
      std::string::npos)
      << said;
  EXPECT_TRUE(comes_true([&] { return host.counters().broken == 1; }));
  EXPECT_NO_THROW(test::remote_device(host));
}

TEST(Greeting, IsWaitedForForATime) {
  remote::Host host({Device::cpu()}, {.token = "right", .greeting = 0.05});
  RawClient silent(host);
  EXPECT_EQ(silent.told(), "");  // closed
  EXPECT_TRUE(comes_true([&] { return host.counters().silent == 1; }));
  // A session, and whoever has shown the token, has all time.
  const Device device = test::remote_device(host, {.token = "right"});
  const Value x = full({2}, 1, device, DType::F32);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(x.data().at(1), 1);
}

TEST(Greeting, TheBusiestAddressMakesRoom) {
  remote::Host host({Device::cpu()}, {.greeting = 1000, .most_strangers = 3});
  struct Named final : net::Connection {
    Named(std::unique_ptr<net::Connection> from, std::string called)
        : inner(std::move(from)), name(std::move(called)) {}
    void send(std::span<const std::byte> message) override { inner->send(message); }
    std::optional<net::Message> receive() override { return inner->receive(); }
    void close() noexcept override { inner->close(); }
    std::string peer() const override { return name; }
    std::unique_ptr<net::Connection> inner;
    std::string name;
  };
  std::vector<std::unique_ptr<net::Connection>> here;
  const auto comes = [&](const char* name) {
    auto [one, other] = net::connected_pair();
    here.push_back(std::move(one));
    host.attach(std::make_unique<Named>(std::move(other), name));
  };
  comes("10.0.0.1:1"), comes("10.0.0.2:1"), comes("10.0.0.2:2");
  EXPECT_EQ(host.counters().silent, 0);
  comes("10.0.0.3:1");  // 10.0.0.2 has the most: its first one goes
  EXPECT_EQ(here[1]->receive(), std::nullopt);
  EXPECT_EQ(host.counters().silent, 1);
  comes("10.0.0.2:3");
  EXPECT_EQ(host.counters().silent, 2);
  // Those that have greeted do not count, and stay.
  const Device device = test::remote_device(host);
  for (int i = 0; i < 5; ++i) comes("10.0.0.4:1");
  EXPECT_EQ(full({2}, 1, device, DType::F32).data().at(1), 1);
}

// The order of events, and no times: a client that asks 20 times has all answers before one that has sent much work is
// through with it.
TEST(Fairness, ABusyClientAndASlowReaderLeaveOthersTheirTurn) {
  remote::Host host({Device::cpu()});
  RawClient slow(host);
  slow.hello();
  slow.work([](wire::Writer& out) { test::write_upload(out, {Shape{250'000}, DType::F32}, 1'000'000); });
  for (int i = 0; i < 100; ++i)  // more than the server keeps for a client that reads nothing
    slow.work([](wire::Writer& out) { remote::begin(out, Entry::Read), out.whole(1), out.whole(1), out.whole(0); });
  const Device busy = test::remote_device(host), light = test::remote_device(host);
  constexpr int kFrames = 200;
  Value x = full({300, 300}, 1e-3, busy, DType::F32);
  for (int frame = 0; frame < kFrames; ++frame) {
    for (int i = 0; i < 4; ++i) x = matmul(x, x);
    busy.flush();
  }
  for (int i = 0; i < 20; ++i) EXPECT_EQ(full({4}, i, light, DType::F32).data().at(3), i);
  const remote::HostCounters now = host.counters();
  ASSERT_EQ(now.sessions.size(), 3u);
  EXPECT_LT(now.sessions[1].frames, kFrames);
  EXPECT_GE(now.sessions[2].frames, 20);
}

TEST(Fairness, ManyClientsAtOnceGetWhatIsTheirs) {
  const int many = test::is_long() ? 50 : 6;
  remote::Host host({Device::cpu()});
  std::vector<std::thread> clients;
  std::atomic<int> right{0};
  for (int c = 0; c < many; ++c)
    clients.emplace_back([&, c] {
      const Device device = test::remote_device(host);
      Value x = from_data(TensorData::of<float>({2}, {static_cast<float>(c), 1}), device);
      for (int i = 0; i < 20; ++i) {
        x = x + 1;
        if (i % 5 == c % 5) device.sync();
      }
      right += x.data().to_vector<float>() == std::vector<float>{static_cast<float>(c + 20), 21};
    });
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(right, many);
  EXPECT_EQ(host.counters().opened, many);
}

}  // namespace
}  // namespace kiln
