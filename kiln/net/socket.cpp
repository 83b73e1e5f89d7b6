#include "kiln/net/socket.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"

namespace kiln::net {
namespace {

using Found = std::unique_ptr<addrinfo, decltype([](addrinfo* list) { ::freeaddrinfo(list); })>;

struct Lookup {
  int problem = 0;
  Found found;
};

Lookup look_up(const std::string& host, int port, int flags) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  const int problem = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  return {problem, Found(problem == 0 ? found : nullptr)};
}

/// Returns the addresses of a host. Names are looked up in a thread of their own, since the system's function knows no
/// deadline.
Found addresses_of(const Address& address, const Deadline& deadline, int flags) {
  require<ArgumentError>(address.port >= 0 && address.port <= 65535, "net: the port ", address.port,
                         " must be 0 to 65535");
  Lookup numeric = look_up(address.host, address.port, flags | AI_NUMERICHOST);
  if (numeric.found) return std::move(numeric.found);
  struct Shared {
    std::mutex mutex;
    std::condition_variable done;
    std::optional<Lookup> result;
  };
  const auto shared = std::make_shared<Shared>();
  std::thread([shared, address, flags] {
    Lookup result = look_up(address.host, address.port, flags);
    const std::lock_guard lock(shared->mutex);
    shared->result = std::move(result);
    shared->done.notify_all();
  }).detach();
  std::unique_lock lock(shared->mutex);
  const auto left = std::chrono::duration<double>(std::max(deadline.seconds_left(), 0.0));
  require<IoError>(shared->done.wait_for(lock, left, [&] { return shared->result.has_value(); }), "net: where ",
                   shown(address.host), " is was not found out in time: check the name, and the machine's DNS");
  const int problem = shared->result->problem;
  require<IoError>(problem == 0, "net: there is no host ", shown(address.host), " (", ::gai_strerror(problem),
                   "): check the name, or give its address in numbers");
  return std::move(shared->result->found);
}

Socket made(const addrinfo& at) {
  return Socket(::socket(at.ai_family, at.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, at.ai_protocol));
}

Address address_by(int (*get)(int, sockaddr*, socklen_t*), int socket) {
  sockaddr_storage name{};
  socklen_t length = sizeof name;
  if (get(socket, reinterpret_cast<sockaddr*>(&name), &length) != 0) return {"a client that has gone", 0};
  char host[NI_MAXHOST] = {}, port[NI_MAXSERV] = {};
  ::getnameinfo(reinterpret_cast<const sockaddr*>(&name), length, host, sizeof host, port, sizeof port,
                NI_NUMERICHOST | NI_NUMERICSERV);
  return {host, std::atoi(port)};
}

/// Returns 0, or why there is no connection.
int connect_to(int socket, const addrinfo& at, const Deadline& deadline) {
  if (::connect(socket, at.ai_addr, at.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS && errno != EINTR) return errno;
  if (!wait_for(socket, POLLOUT, deadline)) return ETIMEDOUT;
  int error = 0;
  socklen_t length = sizeof error;
  ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length);
  return error;
}

}  // namespace

Socket::~Socket() {
  if (socket_ >= 0) ::close(socket_);
}

Wake::Wake() : socket_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  require<IoError>(socket_.get() >= 0, "net: no more files can be opened (", std::strerror(errno),
                   "): ulimit -n shows the limit");
}
void Wake::wake() const noexcept {
  const std::uint64_t one = 1;
  (void)!::write(socket_.get(), &one, sizeof one);
}
void Wake::clear() const noexcept {
  std::uint64_t count = 0;
  (void)!::read(socket_.get(), &count, sizeof count);
}

bool wait_for(int socket, short events, const Deadline& deadline, int wake) {
  for (;;) {
    std::array<pollfd, 2> waits = {{{socket, events, 0}, {wake, POLLIN, 0}}};
    if (::poll(waits.data(), waits.size(), deadline.milliseconds()) > 0) return true;
    if (deadline.is_over()) return false;
  }
}

void prepare_socket(int socket) {
  const int yes = 1, idle = 30, between = 10, times = 4;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &between, sizeof between);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
  ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK);
}

Socket tcp_connect(const Address& address, const Deadline& deadline) {
  require<ArgumentError>(!address.host.empty() && address.port > 0, "net: ", shown(address.text()),
                         " is nothing to connect with: give a host and a port of 1 to 65535");
  const Found found = addresses_of(address, deadline, 0);
  int error = 0, left = 0;
  for (const addrinfo* at = found.get(); at; at = at->ai_next) ++left;
  for (const addrinfo* at = found.get(); at; at = at->ai_next, --left) {
    Socket socket = made(*at);
    const Deadline share(deadline.seconds_left() / left);  // one that does not answer leaves time for the others
    error = socket.get() < 0 ? errno : connect_to(socket.get(), *at, share);
    if (error != 0) continue;
    prepare_socket(socket.get());
    return socket;
  }
  fail<IoError>("net: ", shown(address.text()), " cannot be reached: ", std::strerror(error),
                error == ECONNREFUSED ? ". Is the server running, and the port right?"
                : error == ETIMEDOUT  ? ". Is the machine on, and does a firewall let the port through?"
                                      : "");
}

Socket tcp_listen(const Address& address) {
  require<ArgumentError>(!address.host.empty(), "net: ", shown(address.text()),
                         " says not where to listen: give 127.0.0.1 for programs of this machine, 0.0.0.0 or :: for "
                         "all who can reach it");
  const Found found = addresses_of(address, Deadline(10), AI_PASSIVE);
  Socket socket = made(*found);
  const int yes = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (socket.get() < 0 || ::bind(socket.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0) {
    const int error = errno;
    fail<IoError>("net: cannot listen at ", shown(address.text()), ": ", std::strerror(error),
                  error == EADDRINUSE
                      ? ". Another program has the port: end it, or take another; port 0 picks a free one"
                  : error == EADDRNOTAVAIL ? ". The address is not this machine's"
                  : error == EACCES        ? ". Ports below 1024 are for the system"
                                           : "");
  }
  return socket;
}

Address own_address(int socket) { return address_by(::getsockname, socket); }
Address peer_address(int socket) { return address_by(::getpeername, socket); }

}  // namespace kiln::net
