// A connection that breaks: the client finds its session and its tensors again, and no work is done twice.
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "kiln/backend/capture/graph.hpp"
#include "kiln/ops/functions.hpp"
#include "tests/backend/remote/hosted_pair.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using test::Dialer;

float at(const Value& value) { return value.data().to_vector<float>().at(0); }

struct Cut : testing::Test {
  remote::Host host{{Device::cpu()}, {.window = 5}};
  Dialer dialer{&host};
  Device device{make_ref<remote::Remote>(dialer, remote::ClientSettings{.window = 5})};

  remote::Remote& client() { return dynamic_cast<remote::Remote&>(device.backend()); }
  void cut() {
    const std::lock_guard lock(dialer.state->mutex);
    dialer.state->last->cut();
  }
  void cut_next_after(int messages, int received = -1) {
    const std::lock_guard lock(dialer.state->mutex);
    dialer.state->cut_next_after = messages;
    dialer.state->cut_next_after_receiving = received;
  }
  /// Gives the client another connection, which lives for so many messages; the ones after it live on.
  void reconnect_for(int messages, int received = -1) {
    const int before = client().counters().reconnections;
    cut_next_after(messages, received);
    cut();
    for (int i = 0; i < 500 && client().counters().reconnections == before; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_GT(client().counters().reconnections, before);
    cut_next_after(-1);
  }
  void reachable(bool is) {
    const std::lock_guard lock(dialer.state->mutex);
    dialer.state->reachable = is;
  }
};

TEST_F(Cut, TheSessionGoesOnWithItsTensors) {
  Value x = full({4}, 1, device, DType::F32);
  EXPECT_EQ(at(x), 1);
  cut();
  x = x + 1;
  EXPECT_EQ(at(x), 2);
  EXPECT_EQ(client().counters().reconnections, 1);
  EXPECT_EQ(host.counters().opened, 1);
  EXPECT_EQ(host.counters().resumed, 1);
}

TEST(Greeting, OfAServerThatSaysNothingEndsInASentence) {
  std::vector<std::unique_ptr<net::Connection>> silent;
  const remote::Dial dial = [&] {
    auto [here, there] = net::connected_pair();
    silent.push_back(std::move(there));
    return std::move(here);
  };
  const std::string said = sentence_of([&] { remote::Remote(dial, {.greeting = 0.02}); });
  EXPECT_NE(said.find("has not answered within 0.02 seconds: is it a server of Kiln"), std::string::npos) << said;
}

TEST(Greeting, OfAServerThatSaysNothingAnyMoreEndsWithTheWindow) {
  remote::Host host({Device::cpu()});
  Dialer dialer{&host};
  std::vector<std::unique_ptr<net::Connection>> silent;
  int dialed = 0;
  // The greeting alone would take longer than the test may.
  const Device device(make_ref<remote::Remote>(
      [&]() -> std::unique_ptr<net::Connection> {
        if (dialed++ == 0) return dialer();
        auto [here, there] = net::connected_pair();
        silent.push_back(std::move(there));
        return std::move(here);
      },
      remote::ClientSettings{.window = 0.1, .greeting = 100'000}));
  const Value x = full({4}, 1, device, DType::F32);
  device.sync();
  dialer.state->last->cut();
  const std::string said = sentence_of([&] { (void)x.data(); });
  EXPECT_NE(said.find("was lost and did not come back within 0.1 seconds"), std::string::npos) << said;
}

TEST(Work, ThatIsTooLongForAMessageEndsTheSessionInASentence) {
  remote::Host host({Device::cpu()});
  const auto link = remote::Link::open(Dialer{&host}, {});
  const std::vector<std::byte> entries(remote::kMostBytes + 1);
  const std::string said = sentence_of([&] { link->post(entries); });
  EXPECT_NE(said.find("takes 16777217 bytes, and a server takes no more than 16777216 at once"), std::string::npos)
      << said;
  EXPECT_EQ(link->reconnections(), 0);
  EXPECT_TRUE(link->is_lost());
  link->close();
}

// Whoever posts may hold locks that a program takes which waits for an answer.
TEST(Work, ThatIsTooLongWakesNobodyInTheThreadThatPostsIt) {
  remote::Host host({Device::cpu()});
  const Dialer dialer{&host};
  const auto link = remote::Link::open(dialer, {});
  {
    const std::lock_guard lock(dialer.state->mutex);
    dialer.state->reachable = false;
    dialer.state->last->cut();
  }
  const auto request = make_ref<remote::Request>(link->next_request(), std::vector<Value>());
  link->post_request(request, std::vector<std::byte>(1));
  std::promise<std::thread::id> woken;
  const auto wake = [](void* to) {
    static_cast<std::promise<std::thread::id>*>(to)->set_value(std::this_thread::get_id());
  };
  request->notify({wake, &woken});
  EXPECT_NE(sentence_of([&] { link->post(std::vector<std::byte>(remote::kMostBytes + 1)); }), "");
  EXPECT_NE(woken.get_future().get(), std::this_thread::get_id());
  link->close();
}

TEST(Rate, CountsPiecesOfTensorsAlone) {
  auto [here, there] = net::connected_pair(8 << 20);
  remote::Outbox outbox(64 << 20, remote::Outbox::WhenLost::Keep);
  outbox.connect(std::move(here));
  std::uint64_t number = 0;
  const auto data = std::make_shared<const TensorData>(Shape{1 << 19}, DType::F32);  // 2 MB
  const auto sent = [&](remote::Outgoing message) {
    outbox.post_work(std::move(message));
    EXPECT_TRUE(there->receive().has_value());
    ++number;
  };
  // What the other end confirms after these has to do with what it computes.
  sent({.head = std::vector<std::byte>(2 << 20)});
  while (outbox.sent_bytes() < 2 << 20) std::this_thread::yield();
  outbox.confirm(number);
  EXPECT_EQ(outbox.rate(), 0);
  sent({.head = std::vector<std::byte>(1)});
  sent({.head = std::vector<std::byte>(1), .data = data, .count = 2 << 20});
  while (outbox.sent_bytes() < 4 << 20) std::this_thread::yield();
  outbox.confirm(number);
  EXPECT_EQ(outbox.rate(), 0);
  sent({.head = std::vector<std::byte>(1), .data = data, .count = 2 << 20});
  while (outbox.sent_bytes() < 6 << 20) std::this_thread::yield();
  outbox.confirm(number);
  EXPECT_GT(outbox.rate(), 0);
}

TEST_F(Cut, WorkIsNeitherLostNorDoneTwice) {
  // After each number of messages that a connection may live for.
  cut_next_after(3);
  cut();
  Value x = full({1}, 0, device, DType::F32);
  for (int i = 1; i <= 60; ++i) {
    x = x + 1;
    if (i % 3 == 0) device.flush();
    if (i % 10 == 0) { EXPECT_EQ(at(x), i); }
  }
  EXPECT_GT(client().counters().reconnections, 5);
  EXPECT_EQ(host.counters().sessions.at(0).calls, 61);
}

TEST_F(Cut, AnUploadInPiecesGoesOnWhereItWasCut) {
  for (int after = 2; after < 9; ++after) {
    const int before = client().counters().reconnections;
    reconnect_for(after);
    TensorData data(Shape{500, 1000}, DType::F32);  // eight pieces
    for (std::size_t i = 0; i < 500'000; ++i) data.as<float>()[i] = static_cast<float>(i % 1013);
    const TensorData expected = data;
    EXPECT_EQ(difference(from_data(std::move(data), device).data(), expected, {0, 0}), "");
    EXPECT_GE(client().counters().reconnections, before + 2);
  }
}

TEST_F(Cut, AReadThatWasCutIsAskedForAgain) {
  const Value x = full({700, 1000}, 3, device, DType::F32);
  device.sync();
  for (int after = 2; after < 9; ++after) {  // the answer has eleven pieces
    const int before = client().counters().reconnections;
    reconnect_for(-1, after);
    EXPECT_EQ(device.backend().start_read({&x, 1})->wait()[0].at(699'999), 3);
    EXPECT_GE(client().counters().reconnections, before + 2);
  }
}

TEST_F(Cut, AProgramThatIsReplayedIsReplayedOnce) {
  const Value one = full({4}, 1, device, DType::F32);
  const Graph graph = capture_graph([&](const Values& in) { return Values{in[0] * 1.5 + one}; }, {&one, 1});
  cut_next_after(3);
  cut();
  Value x = full({4}, 0, device, DType::F32);
  float expected = 0;
  for (int i = 1; i <= 60; ++i) {
    x = graph.replay({&x, 1})[0];
    expected = expected * 1.5f + 1;
    if (i % 3 == 0) device.flush();
    if (i % 20 == 0) { EXPECT_FLOAT_EQ(at(x), expected); }
    expected = i % 20 == 0 ? at(x) : expected;
  }
  EXPECT_GT(client().counters().reconnections, 5);
  EXPECT_EQ(host.counters().sessions.at(0).calls, 2 + 60 * static_cast<int>(graph.size()));
}

/// A network that doubles messages, and puts one of two that follow each other before the other.
class Unruly final : public net::Connection {
 public:
  struct Counts {  // of all connections, so that what is sent again finds another fate
    std::atomic<int> sent{0}, received{0}, pieces{0}, faults{0};
  };
  Unruly(std::unique_ptr<net::Connection> inner, Counts& counts) : inner_(std::move(inner)), counts_(counts) {}

  void send(std::span<const std::byte> message) override {
    // A piece of an upload is held until the next message: a whole one follows.
    if (held_) {
      inner_->send(message);
      inner_->send(*std::exchange(held_, std::nullopt));
      ++counts_.faults;
    } else if (message.size() > 200'000 && ++counts_.sent % 5 == 0) {
      held_.emplace(message.begin(), message.end());
    } else {
      inner_->send(message);
      if (++counts_.sent % 3 == 1) inner_->send(message), ++counts_.faults;
    }
  }
  std::optional<net::Message> receive() override {
    if (again_) return std::exchange(again_, std::nullopt);
    std::optional<net::Message> message = inner_->receive();
    if (!message) return message;
    const bool is_piece = message->front() == std::byte{static_cast<std::uint8_t>(remote::Frame::Piece)};
    if (is_piece && ++counts_.pieces % 13 == 0) {
      again_ = inner_->receive();  // the next one comes first
      std::swap(message, again_);
      ++counts_.faults;
    } else if (++counts_.received % 5 == 0) {
      again_ = message;
      ++counts_.faults;
    }
    return message;
  }
  void close() noexcept override { inner_->close(); }
  std::string peer() const override { return inner_->peer(); }

 private:
  const std::unique_ptr<net::Connection> inner_;
  Counts& counts_;
  std::optional<net::Message> held_, again_;
};

TEST(Unruly, MessagesThatComeTwiceOrInAnotherOrderChangeNothing) {
  remote::Host host({Device::cpu()});
  Unruly::Counts counts;
  const Device device(make_ref<remote::Remote>([&] {
    auto [here, there] = net::connected_pair();
    host.attach(std::move(there));
    return std::make_unique<Unruly>(std::move(here), counts);
  }));
  const auto& client = dynamic_cast<const remote::Remote&>(device.backend());
  Value sum = full({1}, 0, device, DType::F32);
  for (int round = 0; round < 4; ++round) {
    TensorData data(Shape{500, 1000}, DType::F32);  // eight pieces
    for (std::size_t i = 0; i < 500'000; ++i) data.as<float>()[i] = static_cast<float>((i + 7) % 1013);
    const TensorData expected = data;
    EXPECT_EQ(difference(from_data(std::move(data), device).data(), expected, {0, 0}), "");
    for (int i = 0; i < 10; ++i) {
      sum = sum + 1;
      device.flush();
    }
    EXPECT_EQ(at(sum), 10 * (round + 1));
  }
  EXPECT_GT(counts.faults, 20);
  EXPECT_GT(client.counters().reconnections, 0);
  EXPECT_EQ(host.counters().opened, 1);
  EXPECT_EQ(host.counters().broken, 0);
}

TEST_F(Cut, BeyondTheWindowASentenceSaysWhatIsLost) {
  const Device brief(make_ref<remote::Remote>(dialer, remote::ClientSettings{.window = 0.2}));
  const Value x = full({4}, 1, brief, DType::F32);
  brief.sync();
  reachable(false);
  cut();
  EXPECT_EQ(sentence_of([&] { (void)x.data(); }),
            "DeviceError: remote device at this program: the connection to this program was lost and did not come back "
            "within 0.2 seconds (nobody answers): the tensors there are lost");
  EXPECT_TRUE(
      sentence_of([&] { (void)(x + 1); }).starts_with("DeviceError: remote device at this program: the connection"));
  EXPECT_TRUE(
      sentence_of([&] { brief.sync(); }).starts_with("DeviceError: remote device at this program: the connection"));
  reachable(true);
}

TEST_F(Cut, AReadThatWaitsEndsWithTheSession) {
  const Value x = full({4}, 1, device, DType::F32);
  device.sync();
  reachable(false);
  cut();
  auto reading = device.backend().start_read({&x, 1});
  client().leave();
  EXPECT_EQ(sentence_of([&] { (void)reading->wait(); }),
            "DeviceError: remote device at this program: this program has ended its session");
}

TEST_F(Cut, AServerThatWasStartedAnewHasNoSessions) {
  const Value x = full({4}, 1, device, DType::F32);
  device.sync();
  remote::Host other({Device::cpu()});
  {
    const std::lock_guard lock(dialer.state->mutex);
    dialer.state->leads_to = &other;
  }
  cut();
  EXPECT_EQ(
      sentence_of([&] { (void)x.data(); }),
      "DeviceError: remote device at this program: the server has no session 1: it was started anew, or has waited "
      "too long for this client: the tensors on it are lost");
  EXPECT_EQ(other.counters().opened, 0);
}

TEST_F(Cut, ASessionIsFreedWhenItsClientGoes) {
  {
    const Device brief(make_ref<remote::Remote>(dialer));
    const Value x = full({4}, 1, brief, DType::F32);
    brief.sync();
    EXPECT_EQ(host.counters().sessions.size(), 2u);
  }
  for (int i = 0; i < 500 && host.counters().sessions.size() > 1; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(host.counters().sessions.size(), 1u);
}

TEST(Drain, LetsWorkThatHasComeFinish) {
  remote::Host host({Device::cpu()});
  const Device device = test::remote_device(host);
  Value x = full({4}, 1, device, DType::F32);
  for (int i = 0; i < 100; ++i) x = x + 1;
  auto reading = device.backend().start_read({&x, 1});
  EXPECT_EQ(reading->wait()[0].at(0), 101);
  host.drain(5);
  EXPECT_TRUE(host.counters().draining);
  EXPECT_EQ(sentence_of([&] { device.sync(); }),
            "DeviceError: remote device at this program: the server was shut down");
  EXPECT_EQ(sentence_of([&] { test::remote_device(host); }),
            "DeviceError: remote device at this program: the server is being shut down and takes no more sessions");
}

}  // namespace
}  // namespace kiln
