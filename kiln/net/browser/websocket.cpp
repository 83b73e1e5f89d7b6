// net::connect in a browser. It has no servers, and no sockets but these.
#include "kiln/net/websocket.hpp"

#include "kiln/core/error/error.hpp"
#include "kiln/net/browser/socket.hpp"

namespace kiln::net {
namespace {

using browser::Socket;

class BrowserConnection final : public Connection {
 public:
  explicit BrowserConnection(std::shared_ptr<Socket> socket) : socket_(std::move(socket)) {}
  ~BrowserConnection() override { close(); }

  void send(std::span<const std::byte> message) override { socket_->send(Message(message.begin(), message.end())); }
  std::optional<Message> receive() override { return socket_->receive(); }
  void take_at_most(std::size_t bytes) override { socket_->take_at_most(bytes); }
  void close() noexcept override { socket_->close(); }
  std::string peer() const override { return socket_->peer(); }
  void wait_until_open(double seconds) { socket_->wait_until_open(seconds); }

 private:
  const std::shared_ptr<Socket> socket_;
};

}  // namespace

std::unique_ptr<Connection> connect(const Address& address, const ConnectOptions& options) {
  options.check();
  require<ArgumentError>(options.headers.empty(),
                         "net: a browser lets a page send no headers with a WebSocket, and got ",
                         options.headers.size(), ": say in a first message who you are");
  if (options.tls)
    require<ArgumentError>(options.tls->certificate.empty() && options.tls->key.empty() &&
                               options.tls->authority.empty() && options.tls->verify && options.tls->name.empty(),
                           "net: a browser alone decides which certificates it trusts: leave TlsOptions as they are");
  const std::string url = text(options.tls ? "wss://" : "ws://", address.text(), options.path);
  auto connection = std::make_unique<BrowserConnection>(Socket::open(url, address.text(), options.limits));
  connection->wait_until_open(options.timeout);
  return connection;
}

}  // namespace kiln::net
