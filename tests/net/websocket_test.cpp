// WebSockets between two ends of Kiln: messages of all sizes, both directions at once, closing, and a bad network.
#include "kiln/net/websocket.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "kiln/core/error/error.hpp"
#include "tests/net/net_support.hpp"
#include "tests/support/faulty_proxy.hpp"

namespace kiln::net {
namespace {

/// A listener whose connections all send back what they get, each in a thread of its own.
class Echo {
 public:
  explicit Echo(const ListenOptions& options = {}) : listener_(listen({"127.0.0.1", 0}, options)) {
    acceptor_ = std::thread([this] {
      while (auto connection = listener_->accept())
        threads_.emplace_back([connection = std::shared_ptr(std::move(connection))] {
          try {
            while (const auto message = connection->receive()) connection->send(*message);
          } catch (const IoError&) {  // the other end has gone
          }
        });
    });
  }
  ~Echo() {
    listener_->close();
    acceptor_.join();
    for (std::thread& thread : threads_) thread.join();
  }
  int port() const { return listener_->port(); }
  std::unique_ptr<Connection> connect(ConnectOptions options = {}) const {
    return net::connect({"127.0.0.1", port()}, options);
  }

 private:
  std::unique_ptr<WebSocketListener> listener_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

TEST(WebSocket, BringsMessagesOfAnySize) {
  const Echo echo;
  const auto connection = echo.connect();
  for (const std::size_t size : {0u, 1u, 125u, 126u, 127u, 65'535u, 65'536u, 65'537u, 5'000'001u}) {
    const Message sent = pattern(size);
    connection->send(sent);
    EXPECT_EQ(connection->receive(), sent) << size;
  }
  EXPECT_EQ(connection->peer(), text("127.0.0.1:", echo.port()));
}

TEST(WebSocket, BringsMessagesInPartsToTheirPlaces) {
  for (const bool masks : {true, false}) {
    const auto listener = listen({"127.0.0.1", 0});
    const auto here = connect({"127.0.0.1", listener->port()}, {.masks_loopback = masks});
    const auto there = listener->accept();
    const auto brings = [](Connection& from, Connection& to, std::size_t begin, std::size_t end) {
      const Message whole = pattern(begin + end);
      const std::span<const std::byte> bytes = whole;
      std::thread sender([&] { from.send_parts(bytes.first(begin), bytes.subspan(begin)); });
      Message place(end);
      const auto rest = to.receive_to([&](std::span<const std::byte> shown, std::size_t length) {
        EXPECT_EQ(length, whole.size());
        EXPECT_GE(shown.size(), 64u);
        EXPECT_TRUE(std::ranges::equal(shown, bytes.first(shown.size())));
        return std::span(place);
      });
      sender.join();
      const bool is_placed = whole.size() >= kLeastPlaced;
      EXPECT_TRUE(std::ranges::equal(*rest, is_placed ? bytes.first(begin) : bytes)) << begin << ' ' << end;
      EXPECT_TRUE(!is_placed || std::ranges::equal(place, bytes.subspan(begin))) << begin << ' ' << end;
    };
    for (const std::size_t begin : {0u, 1u, 37u, 20'000u, 200'000u})
      for (const std::size_t end : {1u, 4095u, 4099u, 16'384u, 300'001u}) {
        brings(*here, *there, begin, end);
        brings(*there, *here, begin, end);
      }
  }
}

TEST(WebSocket, SendsWhileItReceives) {
  const Echo echo;
  const auto connection = echo.connect();
  constexpr int kCount = 60;
  std::thread sender([&] {
    for (int i = 0; i < kCount; ++i) connection->send(pattern(200'000 + static_cast<std::size_t>(i)));
  });
  for (int i = 0; i < kCount; ++i) EXPECT_EQ(connection->receive(), pattern(200'000 + static_cast<std::size_t>(i)));
  sender.join();
}

TEST(WebSocket, ClosesInAnOrderlyWay) {
  const auto listener = listen({"127.0.0.1", 0});
  auto here = connect({"127.0.0.1", listener->port()});
  const auto there = listener->accept();
  // All that was sent arrives, though the sender has gone before anybody reads.
  for (int i = 0; i < 20; ++i) here->send(pattern(50'000));
  here.reset();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(there->receive(), pattern(50'000));
  EXPECT_EQ(there->receive(), std::nullopt);
  EXPECT_EQ(there->receive(), std::nullopt);
  EXPECT_THROW(there->send(pattern(1)), IoError);
}

TEST(WebSocket, ClosingEndsWhoeverWaits) {
  const auto listener = listen({"127.0.0.1", 0});
  auto here = connect({"127.0.0.1", listener->port()});
  const auto there = listener->accept();
  std::thread reader([&] { EXPECT_EQ(here->receive(), std::nullopt); });
  std::thread other([&] { EXPECT_EQ(there->receive(), std::nullopt); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  here->close();
  here->close();
  reader.join();
  other.join();
  EXPECT_THROW(here->send(pattern(1)), IoError);
}

TEST(WebSocket, ClosingEndsASenderWhomNobodyReads) {
  const auto listener = listen({"127.0.0.1", 0});
  auto here = connect({"127.0.0.1", listener->port()});
  const auto there = listener->accept();
  std::atomic<bool> begun = false;
  std::thread sender([&] {
    EXPECT_THROW(
        {
          for (;;) {
            here->send(pattern(1 << 20));
            begun = true;
          }
        },
        IoError);
  });
  while (!begun) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  here->close();
  sender.join();
}

TEST(WebSocket, ALostConnectionIsAnErrorAtBothEnds) {
  const auto listener = listen({"127.0.0.1", 0});
  test::FaultyProxy proxy(listener->port());
  auto here = connect({"127.0.0.1", proxy.port()});
  const auto there = listener->accept();
  here->send(pattern(3));
  EXPECT_EQ(there->receive(), pattern(3));
  proxy.drop();
  EXPECT_THROW(there->receive(), IoError);
  EXPECT_THROW(there->receive(), IoError);
  EXPECT_THROW(here->receive(), IoError);
  EXPECT_THROW(here->send(pattern(3)), IoError);
}

TEST(WebSocket, LivesOnADelayedNarrowLineInSmallPieces) {
  const Echo echo;
  test::FaultyProxy proxy(echo.port(), {.delay = 0.02, .bytes_per_second = 2e6, .piece = 7},
                          {.delay = 0.02, .piece = 11});
  const auto connection = connect({"127.0.0.1", proxy.port()});
  std::thread sender([&] {
    for (std::size_t i = 0; i < 30; ++i) connection->send(pattern(10 * i));
  });
  for (std::size_t i = 0; i < 30; ++i) EXPECT_EQ(connection->receive(), pattern(10 * i));
  sender.join();
}

TEST(WebSocket, LongerMessagesThanTheLimitsAreRefused) {
  const Echo echo({.limits = {.message_bytes = 1000}});
  const auto connection = echo.connect();
  connection->send(pattern(1000));
  EXPECT_EQ(connection->receive(), pattern(1000));
  connection->send(pattern(1001));
  EXPECT_NE(sentence([&] { connection->receive(); }).find("code 1009: a message that is longer than the 1000 bytes"),
            std::string::npos);
  const auto small = echo.connect({.limits = {.message_bytes = 10}});
  EXPECT_THROW(small->send(pattern(11)), ArgumentError);
  small->send(pattern(10));  // which has not ended it
  EXPECT_EQ(small->receive(), pattern(10));
}

TEST(WebSocket, SilenceIsAnErrorIfItIsLimited) {
  const auto listener = listen({"127.0.0.1", 0});
  const auto here = connect({"127.0.0.1", listener->port()}, {.limits = {.silence = 0.05}});
  const auto there = listener->accept();
  EXPECT_NE(sentence([&] { here->receive(); }).find("has sent nothing for too long"), std::string::npos);
}

TEST(WebSocket, FiftyClientsAtOnce) {
  const Echo echo;
  std::vector<std::thread> clients;
  for (std::size_t i = 0; i < 50; ++i)
    clients.emplace_back([&echo, i] {
      const auto connection = echo.connect();
      for (std::size_t k = 0; k < 10; ++k) {
        connection->send(pattern(100 * i + k));
        EXPECT_EQ(connection->receive(), pattern(100 * i + k));
      }
    });
  for (std::thread& client : clients) client.join();
}

TEST(WebSocket, ATokenKeepsOthersOut) {
  const Echo echo({.path = "/device", .token = "open sesame"});
  const auto connection = echo.connect({.path = "/device", .headers = {bearer("open sesame")}});
  connection->send(pattern(5));
  EXPECT_EQ(connection->receive(), pattern(5));
  for (const Headers& headers : {Headers{}, Headers{bearer("open sesam")}, Headers{bearer("open sesame!")}})
    EXPECT_NE(sentence([&] { echo.connect({.path = "/device", .headers = headers}); }).find("answers 401"),
              std::string::npos);
  EXPECT_NE(sentence([&] { echo.connect({.path = "/other", .headers = {bearer("open sesame")}}); }).find("answers 404"),
            std::string::npos);
}

TEST(WebSocket, SaysWhyThereIsNoConnection) {
  const auto said = [](const Address& address, const ConnectOptions& options = {}) {
    return sentence([&] { connect(address, options); });
  };
  EXPECT_NE(said({"there-is-no-such-host.invalid", 80}).find("there is no host there-is-no-such-host.invalid"),
            std::string::npos);
  int free_port = 0;
  { free_port = listen({"127.0.0.1", 0})->port(); }
  EXPECT_NE(said({"127.0.0.1", free_port}).find("Connection refused. Is the server running"), std::string::npos);
  EXPECT_NE(said({"", 1}).find("is nothing to connect with"), std::string::npos);
  EXPECT_NE(said({"127.0.0.1", 0}).find("is nothing to connect with"), std::string::npos);
  EXPECT_NE(said({"127.0.0.1", free_port}, {.path = "no path"}).find("is no path"), std::string::npos);
  EXPECT_NE(said({"127.0.0.1", free_port}, {.headers = {{"A", "b\r\nC: d"}}}).find("cannot be sent"),
            std::string::npos);

  // One that says nothing, and one that is not HTTP.
  const Peer silent([](int) { return ""; });
  EXPECT_NE(said({"127.0.0.1", silent.port()}, {.timeout = 0.05}).find("has sent nothing for too long"),
            std::string::npos);
  const Peer other([](int) { return "220 mail.example ESMTP\r\n"; });
  EXPECT_NE(said({"127.0.0.1", other.port()}).find("does not answer as an HTTP server does"), std::string::npos);
  const Peer wrong([](int) {
    return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
           "Sec-WebSocket-Accept: c29tZXRoaW5nIGVsc2UgZW50aXI=\r\n\r\n";
  });
  EXPECT_NE(said({"127.0.0.1", wrong.port()}).find("does not agree to a WebSocket"), std::string::npos);
}

TEST(WebSocketListener, SaysWhyItCannotListen) {
  const auto listener = listen({"127.0.0.1", 0});
  EXPECT_NE(sentence([&] { listen({"127.0.0.1", listener->port()}); }).find("Another program has the port"),
            std::string::npos);
  EXPECT_NE(sentence([&] { listen({"192.0.2.1", 0}); }).find("The address is not this machine's"), std::string::npos);
  EXPECT_THROW(listen({"127.0.0.1", 70'000}), ArgumentError);
  EXPECT_NE(sentence([&] { listen({"", 0}); }).find("0.0.0.0 or :: for all who can reach it"), std::string::npos);
}

TEST(WebSocketListener, ClosingEndsAccept) {
  const auto listener = listen({"127.0.0.1", 0});
  auto here = connect({"127.0.0.1", listener->port()});
  const auto there = listener->accept();
  std::thread closer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    listener->close();
  });
  EXPECT_EQ(listener->accept(), nullptr);
  closer.join();
  EXPECT_EQ(listener->accept(), nullptr);
  here->send(pattern(9));  // what was accepted lives on
  EXPECT_EQ(there->receive(), pattern(9));
  EXPECT_THROW(connect({"127.0.0.1", listener->port()}), IoError);
}

TEST(WebSocketListener, ClosingLeavesWhatWasAcceptedJustNow) {
  for (int i = 0; i < 20; ++i) {
    const auto listener = listen({"127.0.0.1", 0});
    auto here = connect({"127.0.0.1", listener->port()});
    const auto there = listener->accept();
    listener->close();
    here->send(pattern(9));
    EXPECT_EQ(there->receive(), pattern(9));
  }
}

TEST(Address, IsParsedOrRefused) {
  EXPECT_EQ(Address::parse("host:3000").text(), "host:3000");
  EXPECT_EQ(Address::parse("[::1]:3000").host, "::1");
  EXPECT_EQ(Address::parse("[::1]:3000").text(), "[::1]:3000");
  EXPECT_EQ(Address::parse("host", 80).port, 80);
  EXPECT_EQ(Address::parse("[::1]", 80).port, 80);
  for (const char* const wrong : {"", ":", "host", "host:", "host:x", "host:70000", "host:-1", "host:1x", "::1:80",
                                  "[::1", "[::1]80", ":80", "a b:80", "http://host:80", "user@host:80"})
    EXPECT_THROW(Address::parse(wrong), ArgumentError) << wrong;
}

TEST(TokenFor, IsNeededWhereOthersReachTheServer) {
  const char* const variable = "KILN_TEST_TOKEN_FOR";
  for (const char* const here : {"127.0.0.1", "127.8.8.8", "::1", "localhost"})
    EXPECT_EQ(token_for(here, variable), "");
  for (const char* const empty : {"", static_cast<const char*>(nullptr)}) {
    if (empty) ::setenv(variable, empty, 1);
    else ::unsetenv(variable);
    for (const char* const anywhere : {"0.0.0.0", "::", "10.0.0.7", "gpu.example", ""})
      EXPECT_THROW(token_for(anywhere, variable), ArgumentError) << anywhere;
  }
  ::setenv(variable, "a secret", 1);
  EXPECT_EQ(token_for("0.0.0.0", variable), "a secret");
  EXPECT_EQ(token_for("127.0.0.1", variable), "a secret");
  ::unsetenv(variable);
}

}  // namespace
}  // namespace kiln::net
