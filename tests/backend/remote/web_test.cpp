// The remote device over WebSockets of the loopback: names, tokens, the page, and values from server to server.
#include <gtest/gtest.h>

#include <poll.h>

#include <atomic>
#include <cstdlib>
#include <optional>
#include <thread>

#include "kiln/backend/remote/address.hpp"
#include "kiln/backend/remote/hosting.hpp"
#include "kiln/backend/remote/remote.hpp"
#include "kiln/net/socket.hpp"
#include "kiln/net/websocket.hpp"
#include "kiln/ops/functions.hpp"
#include "tests/support/faulty_proxy.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

Device device_of(int port, remote::ClientSettings settings = {}) {
  return Device(make_ref<remote::Remote>(remote::dial_of(text("127.0.0.1:", port)), std::move(settings)));
}

TEST(Web, ADeviceIsNamedByItsServersAddress) {
  const auto running = host(Device::cpu(), {.port = 0});
  const Device device = Device::parse(text("remote:127.0.0.1:", running->port()));
  EXPECT_EQ(device, Device::parse(text("remote:127.0.0.1:", running->port())));
  EXPECT_EQ(sum(full({10, 10}, 2, device, DType::F32)).item(), 200);
  EXPECT_EQ(running->counters().sessions.size(), 1u);
  EXPECT_TRUE(sentence_of([] { Device::parse("remote:127.0.0.1:1"); }).starts_with("IoError: "));
  EXPECT_TRUE(sentence_of([] { Device::parse("remote:"); }).starts_with("ArgumentError: "));
}

TEST(Web, AServerThatDoesNotAnswerKeepsNobodyFromAnotherOne) {
  std::optional<net::Socket> silent(net::tcp_listen({"127.0.0.1", 0}));  // who dials it waits for an answer
  const int port = net::own_address(silent->get()).port;
  const auto running = host(Device::cpu(), {.port = 0});
  std::atomic<bool> ended{false};
  std::string said;
  std::thread waits([&] {
    said = sentence_of([&] { Device::parse(text("remote:127.0.0.1:", port)); });
    ended = true;
  });
  EXPECT_TRUE(net::wait_for(silent->get(), POLLIN, net::Deadline(10)));  // it has dialed
  const Device other = Device::parse(text("remote:127.0.0.1:", running->port()));
  EXPECT_EQ(sum(full({10}, 2, other, DType::F32)).item(), 20);
  EXPECT_FALSE(ended);
  silent.reset();
  waits.join();
  EXPECT_TRUE(said.starts_with("IoError: ")) << said;
}

TEST(Web, ATokenIsAskedFor) {
  const auto running = host(Device::cpu(), {.port = 0, .token = "secret"});
  EXPECT_NE(sentence_of([&] { device_of(running->port()); }).find("asks for a token"), std::string::npos);
  EXPECT_EQ(full({2}, 1, device_of(running->port(), {.token = "secret"}), DType::F32).data().at(1), 1);
  EXPECT_EQ(running->counters().refused, 1);
  EXPECT_NE(prometheus_text(running->counters()).find("kiln_host_connections_refused_total 1\n"), std::string::npos);
}

TEST(Web, AServerThatOthersReachAsksForAToken) {
  for (const char* const address : {"0.0.0.0", "::"})
    EXPECT_EQ(sentence_of([&] { host(Device::cpu(), {.address = address, .port = 0}); }),
              text("ArgumentError: a server at ", address,
                   " lets others in: give it HostOptions::token, which their "
                   "programs then have in KILN_REMOTE_TOKEN"));
  EXPECT_GT(host(Device::cpu(), {.address = "0.0.0.0", .port = 0, .token = "secret"})->port(), 0);
}

TEST(Web, AFirstMessageIsShort) {
  const auto running = host(Device::cpu(), {.port = 0, .token = "secret"});
  const std::string said = sentence_of([&] { device_of(running->port(), {.token = std::string(100'000, 'x')}); });
  EXPECT_TRUE(said.starts_with("IoError: ")) << said;
  EXPECT_EQ(running->counters().refused, 0);  // closed before it was looked at
  EXPECT_NE(sentence_of([&] {
              device_of(running->port(), {.token = std::string(50'000, 'x')});
            }).find("does not take this token"),
            std::string::npos);
  EXPECT_EQ(full({2}, 1, device_of(running->port(), {.token = "secret"}), DType::F32).data().at(1), 1);
}

TEST(Web, PagesOfAnOriginThatItWasToldMayConnect) {
  const auto closed = host(Device::cpu(), {.port = 0}),
             open = host(Device::cpu(), {.port = 0, .origins = {"http://127.0.0.1:8000"}});
  const auto dial_from = [](const Hosting& server, std::string origin) {
    return net::connect({"127.0.0.1", server.port()},
                        {.path = std::string(remote::kPath), .headers = {{"Origin", std::move(origin)}}});
  };
  const Device device(make_ref<remote::Remote>([&] { return dial_from(*open, "http://127.0.0.1:8000"); }));
  EXPECT_EQ(sum(full({10}, 2, device, DType::F32)).item(), 20);
  EXPECT_NE(sentence_of([&] { dial_from(*open, "http://127.0.0.1:8001"); }).find("403"), std::string::npos);
  EXPECT_NE(sentence_of([&] { dial_from(*closed, "http://127.0.0.1:8000"); }).find("403"), std::string::npos);
}

TEST(Web, ANetworkThatBreaksAndDelaysChangesNothing) {
  const auto running = host(Device::cpu(), {.port = 0});
  test::FaultyProxy proxy(running->port(), {.delay = 0.001, .drop_at = 30'000}, {.drop_at = 30'000});
  const Device device = device_of(proxy.port());
  Value x = full({500}, 0, device, DType::F32);
  for (int i = 1; i <= 60; ++i) {
    x = x + 1;
    EXPECT_EQ(x.data().at(499), i);
  }
  EXPECT_GT(dynamic_cast<remote::Remote&>(device.backend()).counters().reconnections, 1);
}

TEST(Web, ValuesGoFromServerToServer) {
  const auto one = host(Device::cpu(), {.port = 0, .sends_to_servers = true}), other = host(Device::cpu(), {.port = 0});
  const Device here = device_of(one->port()), there = device_of(other->port());
  const Value x = full({300, 1000}, 3, here, DType::F32);
  here.sync();
  const auto sent = [](const Device& device) { return dynamic_cast<remote::Remote&>(device.backend()).counters(); };
  const auto before = sent(here).bytes_received + sent(there).bytes_sent;
  const Value moved = to_device(x + 1, there);
  EXPECT_EQ(sum(moved).item(), 1'200'000);
  EXPECT_LT(sent(here).bytes_received + sent(there).bytes_sent - before, 2000u);
  EXPECT_EQ(sum(to_device(moved, here)).item(), 1'200'000);  // this way by the client, as the other server sends none
}

}  // namespace
}  // namespace kiln
