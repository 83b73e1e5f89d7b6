#include "kiln/core/error/error.hpp"
#include "kiln/net/crypto.hpp"
#include "kiln/net/server.hpp"
#include "kiln/net/tls.hpp"
#include "kiln/net/websocket.hpp"

namespace kiln::net {
namespace {

[[noreturn]] void fail_without() {
  fail<IoError>(
      "net: this Kiln was built without Boost and OpenSSL, so it serves nothing and has no WebSockets, no TLS and no "
      "secrets: install them "
      "(Debian: libboost-dev, libssl-dev) and configure again with KILN_NET=ON");
}

}  // namespace

struct Server::Running {};

Routes& Routes::add(std::string, std::string, Handler) { return *this; }
Routes& Routes::websocket(std::string, WebSocketHandler, bool) { return *this; }
Routes& Routes::otherwise(Handler) { return *this; }
Server::Server(const ServerOptions&, Routes) { fail_without(); }
Server::~Server() = default;
int Server::port() const { return 0; }
int Server::connections() const { return 0; }
std::shared_ptr<TlsContext> TlsContext::client(const TlsOptions&) { fail_without(); }
std::shared_ptr<TlsContext> TlsContext::server(const TlsOptions&) { fail_without(); }
std::shared_ptr<TlsContext> TlsContext::server_of_now() { fail_without(); }
std::shared_ptr<TlsContext> TlsContext::client_of_all() { fail_without(); }
Digest hmac_sha256(std::span<const std::byte>, std::span<const std::byte>) { fail_without(); }
std::string websocket_accept(std::string_view) { fail_without(); }
std::unique_ptr<Connection> connect(const Address&, const ConnectOptions&) { fail_without(); }
std::unique_ptr<WebSocketListener> listen(const Address&, const ListenOptions&) { fail_without(); }

}  // namespace kiln::net
