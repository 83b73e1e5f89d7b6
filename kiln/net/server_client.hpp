// Conversation is one connection of a server: requests come, responses go, until an end closes or the connection becomes a
// WebSocket.
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "kiln/net/http_parser.hpp"
#include "kiln/net/server.hpp"
#include "kiln/net/stream.hpp"
#include "kiln/net/tls.hpp"

namespace kiln::net {

/// Service holds what all connections of a server share.
struct Service {
  ServerOptions options;
  Routes routes;
  std::shared_ptr<TlsContext> tls;  // null: plain
  Address address;                  // where it listens
};

/// Client is what the server knows of a connection while a thread serves it.
struct Client {
  enum class Does { Reads, Writes, Streams, Works, Speaks };  // the first three may be dropped for others

  std::string host;  // the client's address, without its port
  std::weak_ptr<const Socket> socket;
  std::atomic<Does> does = Does::Reads;
  std::atomic<double> since = 0;  // seconds of the steady clock
  std::atomic<bool> dropped = false, done = false;
  std::atomic<bool> kept = false;  // the connection is its handler's
  std::thread thread;

  void begin(Does what);
  void shut() const;
};

class Conversation {
 public:
  Conversation(const Service& service, Client& client, std::unique_ptr<Stream> stream, std::shared_ptr<void> slot)
      : service_(service), client_(client), stream_(std::move(stream)), slot_(std::move(slot)) {}
  /// Runs until the connection ends, however that is.
  void run() noexcept;

 private:
  const Limits& limits() const { return service_.options.limits; }
  bool serve_one(double patience);
  bool read(HttpParser& parser, double patience, Response& refusal);
  Response answer(const Request& request) const;
  const Handler* handler_of(const Request& request, Response& otherwise) const;
  void write(const Response& response, bool keeps_alive, bool without_body);
  void tell(EventStream& events);
  void farewell();
  void speak(const Routes::WebSocketRoute& route, const Request& request);

  const Service& service_;
  Client& client_;
  std::unique_ptr<Stream> stream_;
  std::shared_ptr<void> slot_;
  std::vector<std::byte> received_;  // and not yet parsed
};

/// Returns why a request is not for this server, as a response with another status than 200: its Host, its Origin or its
/// token.
Response refusal_of(const Service& service, const Request& request);

}  // namespace kiln::net
