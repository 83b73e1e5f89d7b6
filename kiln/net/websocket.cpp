#include "kiln/net/websocket.hpp"

#include <array>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/net/crypto.hpp"
#include "kiln/net/http_parser.hpp"
#include "kiln/net/http_text.hpp"
#include "kiln/net/server.hpp"
#include "kiln/net/tls.hpp"
#include "kiln/net/websocket_stream.hpp"

namespace kiln::net {
namespace {

/// The server's answer to the handshake; what follows it stays in `received`.
Request answer_of(Stream& stream, const Limits& limits, const Deadline& deadline, std::vector<std::byte>& received) {
  Limits small = limits;
  small.body_bytes = 64 << 10;  // of a refusal
  const auto parser = HttpParser::of_response(small);
  std::array<std::byte, 4096> place;
  try {
    for (;;) {
      const std::size_t got = read_some(stream, place, deadline);
      if (got == 0) {
        require<IoError>(parser->has_header(), "net: ", stream.peer(), " closes the connection instead of answering");
        parser->end();
        return std::move(parser->message());
      }
      received.insert(received.end(), place.begin(), place.begin() + static_cast<std::ptrdiff_t>(got));
      while (!received.empty() && !parser->is_done()) {
        const std::size_t used = parser->put(received);
        received.erase(received.begin(), received.begin() + static_cast<std::ptrdiff_t>(used));
        if (used == 0) break;
      }
      if (parser->is_done()) return std::move(parser->message());
    }
  } catch (const HttpError& error) {
    fail<IoError>("net: ", stream.peer(), " does not answer as an HTTP server does (", error.what(),
                  "): is it the right port, and does it speak TLS?");
  }
}

void require_upgrade(const Request& answer, const std::string& key, const Address& address, const std::string& path) {
  if (answer.method != "101") {
    const std::string_view said = std::string_view(answer.body).substr(0, answer.body.find('\n'));
    const bool denied = answer.method == "401";
    fail<IoError>("net: ", address.text(), shown(path), " answers ", answer.method, said.empty() ? "" : ": ",
                  shown(said),
                  denied                   ? ". Is the token right?"
                  : answer.method == "404" ? ". Is the path right?"
                                           : "");
  }
  require<IoError>(is_same_name(answer.header("Upgrade"), "websocket") &&
                       answer.header("Sec-WebSocket-Accept") == websocket_accept(key) &&
                       answer.header("Sec-WebSocket-Extensions").empty(),
                   "net: ", address.text(), shown(path), " does not agree to a WebSocket as RFC 6455 says");
}

class Waiting {
 public:
  void push(std::unique_ptr<Connection> connection) {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    ready_.push_back(std::move(connection));
    changed_.notify_one();
  }
  std::unique_ptr<Connection> pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !ready_.empty(); });
    if (closed_) return nullptr;
    auto connection = std::move(ready_.front());
    ready_.pop_front();
    return connection;
  }
  void close() {
    std::deque<std::unique_ptr<Connection>> dropped;
    const std::lock_guard lock(mutex_);
    closed_ = true;
    dropped.swap(ready_);
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Connection>> ready_;
  bool closed_ = false;
};

class ServerListener final : public WebSocketListener {
 public:
  ServerListener(const Address& address, const ListenOptions& options)
      : waiting_(std::make_shared<Waiting>()),
        server_(std::make_unique<Server>(
            ServerOptions{.address = address, .tls = options.tls, .token = options.token, .limits = options.limits},
            Routes().websocket(
                options.path,
                [waiting = waiting_](std::unique_ptr<Connection> connection, const Request&) {
                  waiting->push(std::move(connection));
                },
                true))),
        port_(server_->port()) {}
  ~ServerListener() override { close(); }

  std::unique_ptr<Connection> accept() override { return waiting_->pop(); }
  void close() noexcept override {
    waiting_->close();
    const std::lock_guard lock(mutex_);
    server_.reset();
  }
  int port() const override { return port_; }

 private:
  std::shared_ptr<Waiting> waiting_;
  std::mutex mutex_;
  std::unique_ptr<Server> server_;
  const int port_;
};

}  // namespace

std::unique_ptr<Connection> connect(const Address& address, const ConnectOptions& options) {
  options.check();
  std::array<std::byte, 16> random;
  fill_random(random);
  const std::string key = base64(random),
                    request = text("GET ", options.path, " HTTP/1.1\r\nHost: ", address.text(),
                                   "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n",
                                   "Sec-WebSocket-Key: ", key, "\r\n", header_lines(options.headers), "\r\n");
  const auto context = options.tls ? TlsContext::client(*options.tls) : nullptr;
  const Deadline deadline(options.timeout);
  Socket socket = tcp_connect(address, deadline);
  auto stream = context ? context->over(std::move(socket), address.text(), address.host)
                        : tcp_stream(std::move(socket), address.text());
  shake_hands(*stream, deadline);
  write_all(*stream, request, options.timeout);
  std::vector<std::byte> received;
  const Request answer = answer_of(*stream, options.limits, deadline, received);
  require_upgrade(answer, key, address, options.path);
  const bool stays_here = is_loopback(peer_address(stream->socket()).host);
  return websocket_over(std::move(stream), stays_here && !options.masks_loopback ? End::ClientHere : End::Client,
                        received, options.limits);
}

std::unique_ptr<WebSocketListener> listen(const Address& address, const ListenOptions& options) {
  return std::make_unique<ServerListener>(address, options);
}

}  // namespace kiln::net
