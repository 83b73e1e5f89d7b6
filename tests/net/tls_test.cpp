// TLS: who is trusted, and what the others are told.
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "kiln/core/error/error.hpp"
#include "kiln/net/server.hpp"
#include "kiln/net/tls.hpp"
#include "kiln/net/websocket.hpp"
#include "tests/net/certificates.hpp"
#include "tests/net/net_support.hpp"
#include "tests/support/faulty_proxy.hpp"

namespace kiln::net {
namespace {

class Tls : public testing::Test {
 protected:
  static void SetUpTestSuite() { made_ = new Certificates(); }
  static void TearDownTestSuite() { delete std::exchange(made_, nullptr); }

  std::unique_ptr<WebSocketListener> listening(const TlsOptions& tls) { return listen({"127.0.0.1", 0}, {.tls = tls}); }
  /// Why a client that trusts `tls` does not reach the listener; empty if it does.
  std::string refusal(const WebSocketListener& listener, const TlsOptions& tls, const std::string& host = "127.0.0.1") {
    return sentence([&] {
      const auto connection = connect({host, listener.port()}, {.tls = tls});
      connection->send(pattern(10));  // with TLS 1.3, a client learns only after the handshake that it is refused
      connection->receive();
    });
  }
  static bool has(const std::string& said, const char* words) { return said.find(words) != std::string::npos; }

  static Certificates* made_;
};
Certificates* Tls::made_ = nullptr;

TEST_F(Tls, CarriesMessagesBothWaysAtOnce) {
  const auto listener = listening(made_->signed_for("IP:127.0.0.1"));
  const auto here = connect({"127.0.0.1", listener->port()}, {.tls = TlsOptions{.authority = made_->authority()}});
  const auto there = listener->accept();
  std::thread echo([&] {
    while (const auto message = there->receive()) there->send(*message);
  });
  std::thread sender([&] {
    for (std::size_t i = 0; i < 100; ++i) here->send(pattern(1000 * i));
  });
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(here->receive(), pattern(1000 * i));
  sender.join();
  std::thread reader([&] { EXPECT_EQ(here->receive(), std::nullopt); });
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  here->close();
  reader.join();
  echo.join();
}

TEST_F(Tls, TrustsOnlyWhatItIsTold) {
  const auto good = listening(made_->signed_for("IP:127.0.0.1,DNS:localhost"));
  std::vector<std::unique_ptr<Connection>> kept;
  std::thread acceptor([&] {
    while (auto connection = good->accept()) connection->close();
  });
  const TlsOptions trusting{.authority = made_->authority()};
  EXPECT_EQ(refusal(*good, trusting), "");
  EXPECT_EQ(refusal(*good, trusting, "localhost"), "");
  EXPECT_EQ(refusal(*good, {.authority = made_->authority(), .name = "localhost"}), "");
  EXPECT_EQ(refusal(*good, {.verify = false}), "");
  EXPECT_TRUE(has(refusal(*good, {}), "its certificate is not trusted"));
  EXPECT_TRUE(has(refusal(*good, {.authority = made_->authority(), .name = "other.example"}), "for another name"));
  EXPECT_TRUE(has(refusal(*good, {.authority = made_->self_signed("IP:127.0.0.1").certificate}), "is not trusted"));
  const auto elsewhere = listening(made_->signed_for("IP:127.0.0.2,DNS:localhost"));
  EXPECT_TRUE(has(refusal(*elsewhere, trusting), "its certificate is for another name"));
  const auto expired = listening(made_->signed_for("IP:127.0.0.1", -1));
  EXPECT_TRUE(has(refusal(*expired, trusting), "its certificate is not valid any more"));
  const TlsOptions own = made_->self_signed("IP:127.0.0.1");
  const auto self_signed = listening(own);
  EXPECT_TRUE(has(refusal(*self_signed, trusting), "its certificate is not trusted (self-signed certificate)"));
  good->close();
  acceptor.join();
}

TEST_F(Tls, AsksClientsForCertificatesIfItIsTold) {
  TlsOptions options = made_->signed_for("IP:127.0.0.1");
  options.authority = made_->authority();
  const auto listener = listening(options);
  std::thread acceptor([&] {
    while (auto connection = listener->accept()) connection->close();
  });
  TlsOptions client = made_->signed_for("DNS:client");
  client.authority = made_->authority();
  EXPECT_EQ(refusal(*listener, client), "");
  EXPECT_TRUE(has(refusal(*listener, {.authority = made_->authority()}), "a client needs a certificate there"));
  TlsOptions stranger = made_->self_signed("DNS:client");
  stranger.authority = made_->authority();
  EXPECT_TRUE(has(refusal(*listener, stranger), "does not trust the certificate of this program"));
  listener->close();
  acceptor.join();
}

TEST_F(Tls, AndPlainEndsTellEachOther) {
  const auto secure = listening(made_->signed_for("IP:127.0.0.1"));
  const auto plain = listen({"127.0.0.1", 0});
  EXPECT_TRUE(has(sentence([&] { connect({"127.0.0.1", secure->port()}); }), "this port speaks TLS"));
  EXPECT_TRUE(has(refusal(*plain, {.authority = made_->authority()}), "does not speak TLS"));
  const Peer silent([](int) { return ""; });
  EXPECT_TRUE(has(
      sentence([&] { connect({"127.0.0.1", silent.port()}, {.tls = TlsOptions{.verify = false}, .timeout = 0.05}); }),
      "does not answer in time when TLS begins"));
}

TEST_F(Tls, BrokenAnywhereInTheHandshakeIsAnError) {
  const auto listener = listening(made_->signed_for("IP:127.0.0.1"));
  test::FaultyProxy proxy(listener->port());
  const ConnectOptions options{.tls = TlsOptions{.authority = made_->authority()}};
  { const auto whole = connect({"127.0.0.1", proxy.port()}, options); }
  listener->accept();
  const std::size_t there = proxy.from_clients(), back = proxy.from_server();
  for (std::size_t at = 1; at < there - 100; at += 37) {  // the rest is the farewell
    proxy.set({.drop_at = at}, {});
    EXPECT_THROW(connect({"127.0.0.1", proxy.port()}, options), IoError) << at;
  }
  for (std::size_t at = 1; at < back - 200; at += 37) {
    proxy.set({}, {.drop_at = at});
    EXPECT_THROW(connect({"127.0.0.1", proxy.port()}, options), IoError) << at;
  }
  proxy.set({}, {});
  const auto after = connect({"127.0.0.1", proxy.port()}, options);
  after->send(pattern(7));
}

TEST_F(Tls, FilesThatCannotBeUsedAreNamed) {
  const TlsOptions good = made_->signed_for("IP:127.0.0.1"), other = made_->signed_for("IP:127.0.0.1");
  const auto said = [&](const TlsOptions& tls) { return sentence([&] { listening(tls); }); };
  std::ofstream(made_->file("nonsense")) << "no certificate\n";
  EXPECT_TRUE(has(said({.certificate = made_->file("missing"), .key = good.key}), "the certificate "));
  EXPECT_TRUE(has(said({.certificate = made_->file("nonsense"), .key = good.key}), "It must be a file in PEM format"));
  EXPECT_TRUE(has(said({.certificate = good.certificate, .key = made_->file("nonsense")}), "the key "));
  EXPECT_TRUE(has(said({.certificate = good.certificate, .key = other.key}), "is not that of"));
  EXPECT_TRUE(has(said({.certificate = good.certificate}), "a server needs a certificate and its key"));
  const auto client = [&](const TlsOptions& tls) { return sentence([&] { connect({"127.0.0.1", 9}, {.tls = tls}); }); };
  EXPECT_TRUE(has(client({.authority = made_->file("missing")}), "the authority "));
  EXPECT_TRUE(has(client({.certificate = good.certificate}), "are given together or not at all"));
}

TEST_F(Tls, BothEndsShareASecretThatDiffersFromConnectionToConnection) {
  const auto server = TlsContext::server_of_now(), client = TlsContext::client_of_all();
  const Socket listening = tcp_listen({"127.0.0.1", 0});
  const auto bindings = [&] {
    auto here = client->over(tcp_connect(own_address(listening.get()), Deadline(5)), "server");
    wait_for(listening.get(), POLLIN, Deadline(5));
    auto there = server->over(Socket(::accept4(listening.get(), nullptr, nullptr, SOCK_NONBLOCK)), "client");
    std::thread other([&] { shake_hands(*there, Deadline(5)); });
    shake_hands(*here, Deadline(5));
    other.join();
    return std::pair(here->binding(), there->binding());
  };
  const auto first = bindings(), second = bindings();
  EXPECT_EQ(first.first, first.second);
  EXPECT_EQ(second.first, second.second);
  EXPECT_NE(first.first, second.first);
}

}  // namespace
}  // namespace kiln::net
