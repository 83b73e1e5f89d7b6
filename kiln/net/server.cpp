#include "kiln/net/server.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <list>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/net/http_text.hpp"
#include "kiln/net/server_client.hpp"

namespace kiln::net {
namespace {

constexpr double kPause = 0.2;  // seconds without accepting, after descriptors ran out

bool is_out_of_descriptors(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

/// An origin is a scheme, a host and a port, which browsers leave out where it is the scheme's (RFC 6454); "null" is what pages
/// without one have in common.
bool is_origin(std::string_view text) {
  const std::size_t scheme = text.starts_with("https://") ? 8 : text.starts_with("http://") ? 7 : 0;
  if (scheme == 0 || text.find_first_of("/?#@* \t\r\n,", scheme) != text.npos) return false;
  try {
    const Address address = Address::parse(text.substr(scheme), 0);
    return address.port != (scheme == 8 ? 443 : 80) &&
           std::ranges::none_of(address.host, [](char letter) { return letter >= 'A' && letter <= 'Z'; });
  } catch (const ArgumentError&) { return false; }
}

}  // namespace

Routes& Routes::add(std::string method, std::string path, Handler handler) {
  require<ArgumentError>(path.starts_with('/') && path.find('?') == path.npos, "net: the route ", shown(path),
                         " is no path: it begins with / and has no ?");
  handlers_[std::move(path)][std::move(method)] = std::move(handler);
  return *this;
}
Routes& Routes::websocket(std::string path, WebSocketHandler handler, bool keeps_all) {
  require<ArgumentError>(path.starts_with('/') && path.find('?') == path.npos, "net: the route ", shown(path),
                         " is no path: it begins with / and has no ?");
  websockets_[std::move(path)] = {std::move(handler), keeps_all};
  return *this;
}
Routes& Routes::otherwise(Handler handler) {
  otherwise_ = std::move(handler);
  return *this;
}

struct Server::Running {
  Running(const ServerOptions& options, Routes routes) {
    options.limits.check();
    for (const std::string& origin : options.origins)
      require<ArgumentError>(
          is_origin(origin), "net: ", shown(origin), " is no origin of pages: write it as browsers do, ",
          R"("https://kiln.example" or "http://127.0.0.1:8000", without a path, :80 of http or :443 of https)");
    (void)header_lines(options.headers);  // an error now, and not at each response
    service.tls = options.tls ? TlsContext::server(*options.tls) : nullptr;
    service.options = options;
    service.routes = std::move(routes);
    listening = tcp_listen(options.address);
    service.address = own_address(listening.get());
    acceptor = std::thread([this] {
      while (!stopping) accept_next();
    });
  }
  ~Running() {
    stopping = true;
    stop.wake();
    acceptor.join();
    for (const auto& client : clients)
      if (!client->done && !client->kept) client->shut();
    for (const auto& client : clients) client->thread.join();
  }

  void accept_next() {
    const bool pauses = !paused.is_over();
    wait_for(pauses ? -1 : listening.get(), POLLIN, pauses ? paused : Deadline::never(), stop.get());
    std::erase_if(clients, [](const auto& client) {
      const bool done = client->done;
      if (done) client->thread.join();
      return done;
    });
    if (stopping || pauses) return;
    Socket socket(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.get() < 0) {
      if (!is_out_of_descriptors(errno)) return;
      drop_one();
      paused = Deadline(kPause);
      return;
    }
    const auto leaving =
        std::ranges::count_if(clients, [](const auto& client) { return client->dropped && !client->done; });
    if (*open - leaving >= service.options.limits.connections && !drop_one()) return turn_away(socket);
    try {
      begin(std::move(socket));
    } catch (...) {  // no memory, or no thread: those that are served go on
      paused = Deadline(kPause);
    }
  }

  void begin(Socket socket) {
    prepare_socket(socket.get());
    const Address address = peer_address(socket.get());
    std::string peer = address.text();
    std::unique_ptr<Stream> stream = service.tls ? service.tls->over(std::move(socket), std::move(peer))
                                                 : tcp_stream(std::move(socket), std::move(peer));
    Client& client = *clients.emplace_back(std::make_unique<Client>());
    client.host = address.host;
    client.socket = stream->shared_socket();
    client.begin(Client::Does::Reads);
    ++*open;
    std::shared_ptr<void> slot(open.get(), [open = open](void*) { --*open; });
    try {
      client.thread = std::thread([this, &client, stream = std::move(stream), slot = std::move(slot)]() mutable {
        Conversation(service, client, std::move(stream), std::move(slot)).run();
        client.done = true;
      });
    } catch (...) {
      clients.pop_back();
      throw;
    }
  }

  /// Makes room for another: ends a connection that is not at work, of the address that has the most, the one that has
  /// done nothing for the longest time. One with events, which comes again by itself, ends only if there is no other.
  /// Returns false if all are at work.
  bool drop_one() {
    std::map<std::string_view, int> of_address;
    for (const auto& client : clients)
      if (!client->dropped && !client->done) ++of_address[client->host];
    Client* chosen = nullptr;
    std::tuple<bool, int, double> least;
    for (const auto& client : clients) {
      const Client::Does does = client->does;
      if (client->dropped || client->done || does == Client::Does::Works || does == Client::Does::Speaks) continue;
      const std::tuple rank(does == Client::Does::Streams, -of_address[client->host], client->since.load());
      if (!chosen || rank < least) least = rank, chosen = client.get();
    }
    if (!chosen) return false;
    chosen->dropped = true;
    chosen->shut();
    return true;
  }

  void turn_away(const Socket& socket) const {
    const std::string said =
        head_text({.status = 503, .headers = {{"Retry-After", "1"}}}, service.options.headers, false);
    if (!service.tls) (void)::send(socket.get(), said.data(), said.size(), MSG_NOSIGNAL);
  }

  Service service;
  Socket listening;
  Wake stop;
  std::atomic<bool> stopping = false;
  Deadline paused{0};
  const std::shared_ptr<std::atomic<int>> open = std::make_shared<std::atomic<int>>(0);
  std::list<std::unique_ptr<Client>> clients;  // the acceptor's
  std::thread acceptor;
};

Server::Server(const ServerOptions& options, Routes routes)
    : running_(std::make_shared<Running>(options, std::move(routes))) {}
Server::~Server() = default;

int Server::port() const { return running_->service.address.port; }
int Server::connections() const { return *running_->open; }

}  // namespace kiln::net
