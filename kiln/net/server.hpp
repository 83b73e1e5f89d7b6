// Server speaks HTTP/1.1: routes, server-sent events and WebSockets, over TLS if wanted. Each connection has a thread of
// its own, so that a client that is slow, silent or wrong holds up nobody else.
//
//   net::Server server({.address = {"127.0.0.1", 8080}}, net::Routes()
//       .get("/", [](const net::Request&) { return net::Response{.body = "hello"}; })
//       .websocket("/echo", [](std::unique_ptr<net::Connection> client, const net::Request&) {
//         while (const auto message = client->receive()) client->send(*message);
//       }));
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kiln/net/connection.hpp"
#include "kiln/net/http.hpp"
#include "kiln/net/options.hpp"

namespace kiln::net {

/// Handlers run in the threads of their connections, several at once. What they throw becomes a response: 400 where the
/// request was wrong (ArgumentError, ShapeError, DataError, ...), 500 otherwise, with the error's sentence.
using Handler = std::function<Response(const Request&)>;
/// A connection that a handler keeps outlives it; one that it does not keep ends with it, with code 1011 where it
/// throws.
using WebSocketHandler = std::function<void(std::unique_ptr<Connection>, const Request&)>;

class Conversation;

class Routes {
 public:
  Routes& get(std::string path, Handler handler) { return add("GET", std::move(path), std::move(handler)); }
  Routes& post(std::string path, Handler handler) { return add("POST", std::move(path), std::move(handler)); }
  /// `keeps_all`: the handler keeps each connection and returns at once, so that not even a server that ends meanwhile
  /// ends the connection.
  Routes& websocket(std::string path, WebSocketHandler handler, bool keeps_all = false);
  /// Answers whatever has no route. Without it the answer is 404, or 405 for a path that has another method.
  Routes& otherwise(Handler handler);

 private:
  friend class Conversation;
  Routes& add(std::string method, std::string path, Handler handler);
  std::map<std::string, std::map<std::string, Handler>, std::less<>> handlers_;  // by path and method
  struct WebSocketRoute {
    WebSocketHandler handler;
    bool keeps_all = false;
  };
  std::map<std::string, WebSocketRoute, std::less<>> websockets_;
  Handler otherwise_;
};

struct ServerOptions {
  Address address = {"127.0.0.1",
                     0};  // port 0 picks a free one; host "0.0.0.0" or "::": for all who can reach this machine
  std::optional<TlsOptions> tls = {};  // with `certificate` and `key`
  std::string token = {};  // clients must send bearer(token), compared in constant time; empty: all may come
  Limits limits = {};
  bool keep_alive = true;               // false: each response ends its connection
  std::vector<std::string> hosts = {};  // further names by which clients may know this server
  /// Pages of these servers may ask, too: "https://kiln.example", "http://127.0.0.1:8000", as browsers write Origin.
  std::vector<std::string> origins = {};
  Headers headers = {};  // of each response, such as a Content-Security-Policy
};

/// Requests of pages from elsewhere are refused: those with an Origin that is neither this server nor one of `origins`, and,
/// where the server listens at a loopback address, those whose Host is no loopback name (a page could have resolved its own
/// name to this machine). Without `origins`, pages of other ports of this machine are refused, too.
class Server {
 public:
  /// Listens and answers from now on. Throws IoError where the port is taken or the certificate cannot be read, ArgumentError
  /// where one of `origins` is none.
  Server(const ServerOptions& options, Routes routes);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  /// Ends all connections that handlers did not keep, and waits for the handlers that run.
  ~Server();

  int port() const;
  /// Returns the number of connections that are open, those that handlers keep among them.
  int connections() const;

 private:
  struct Running;
  std::shared_ptr<Running> running_;
};

}  // namespace kiln::net
