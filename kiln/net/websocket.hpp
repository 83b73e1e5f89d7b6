// Connections over the network: WebSockets (RFC 6455), over TLS if wanted. Each message of a Connection is one binary
// message.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "kiln/net/connection.hpp"
#include "kiln/net/options.hpp"

namespace kiln::net {

struct ConnectOptions {
  std::string path = "/";
  Headers headers = {};                // more of them, such as bearer(token)
  std::optional<TlsOptions> tls = {};  // none: everyone on the way may read and change what is sent
  Limits limits = {};
  double timeout = 10;  // seconds until the connection is there
  /// Whether frames have random masks, as RFC 6455 says, also on this machine's loopback, where nobody is between the two ends
  /// whom they could protect. Their bytes are otherwise sent from where they are.
  bool masks_loopback = true;

  /// Throws ArgumentError for options without meaning.
  void check() const;
};

/// Connects with a server. Throws IoError, with cause and remedy, where there is no such host, nobody listens, the
/// server refuses, its certificate is not trusted, or it does not answer in time; ArgumentError for options without
/// meaning. In a browser the connection is its own WebSocket, which sends no `headers` and decides whom it trusts; a module
/// without threads cannot wait for one (IoError).
std::unique_ptr<Connection> connect(const Address& address, const ConnectOptions& options = {});

struct ListenOptions {
  std::string path = "/";
  std::string token = {};  // clients must send bearer(token), compared in constant time; empty: all may come
  std::optional<TlsOptions> tls = {};  // with `certificate` and `key`
  Limits limits = {};
};

/// A Listener that knows where it listens.
class WebSocketListener : public Listener {
 public:
  virtual int port() const = 0;
};

/// Listens for WebSockets at a path of a server of its own (kiln/net/server.hpp); port 0 picks a free one. Handshakes
/// happen beside accept(), which returns only connections that are ready. Throws IoError where the port is taken or the
/// certificate cannot be read.
std::unique_ptr<WebSocketListener> listen(const Address& address, const ListenOptions& options = {});

}  // namespace kiln::net
