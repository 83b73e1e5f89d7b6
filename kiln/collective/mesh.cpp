#include "kiln/collective/mesh.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"

namespace kiln {
namespace {

using Clock = std::chrono::steady_clock;

class Deadline {
 public:
  explicit Deadline(double seconds)
      : end_(Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(seconds, 1e6)))) {}
  bool is_over() const { return Clock::now() >= end_; }
  /// For poll(), which looks again at least once a minute.
  int milliseconds() const {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - Clock::now()).count();
    return static_cast<int>(std::clamp<decltype(left)>(left + 1, 0, 60'000));
  }

 private:
  Clock::time_point end_;
};

/// An address as it travels: of IPv4, in the network's order of bytes.
struct Place {
  std::uint32_t address = 0;
  std::uint16_t port = 0, unused = 0;
};
bool is_loopback(std::uint32_t address) { return ntohl(address) >> 24 == 127; }

sockaddr_in name_of(const Place& place) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = place.address;
  name.sin_port = place.port;
  return name;
}

/// Where a socket itself is, or its other end.
template <class Get>
Place place_by(Get get, int socket) {
  sockaddr_in name{};
  socklen_t length = sizeof name;
  get(socket, reinterpret_cast<sockaddr*>(&name), &length);
  return {name.sin_addr.s_addr, name.sin_port};
}

Place resolved(const Launch& launch) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  const int problem = ::getaddrinfo(launch.address.c_str(), nullptr, &hints, &found);
  require<IoError>(problem == 0, "ranks: where is ", shown(launch.address), "? ", ::gai_strerror(problem));
  sockaddr_in name{};
  std::memcpy(&name, found->ai_addr, sizeof name);
  ::freeaddrinfo(found);
  return {name.sin_addr.s_addr, htons(static_cast<std::uint16_t>(launch.port))};
}

/// A socket that is closed where an error leaves.
class Socket {
 public:
  explicit Socket(int socket) : socket_(socket) {}
  Socket(Socket&& other) noexcept : socket_(other.release()) {}
  ~Socket() {
    if (socket_ >= 0) ::close(socket_);
  }
  int get() const { return socket_; }
  int release() { return std::exchange(socket_, -1); }

 private:
  int socket_;
};

Socket made() { return Socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

Socket listening(const Place& place) {
  Socket socket = made();
  const int yes = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const sockaddr_in name = name_of(place);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0)
    fail<IoError>("ranks: cannot wait at port ", ntohs(place.port), ": ", std::strerror(errno));
  return socket;
}

/// Tries again until somebody listens there.
Socket connected(const Place& place, int rank, const Deadline& deadline) {
  const sockaddr_in name = name_of(place);
  for (;;) {
    Socket socket = made();
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0) return socket;
    char words[INET_ADDRSTRLEN] = {};
    ::inet_ntop(AF_INET, &name.sin_addr, words, sizeof words);
    require<IoError>(!deadline.is_over(), "ranks: rank ", rank, " is not to be reached at ", words, ':',
                     ntohs(place.port), ": ", std::strerror(errno));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

bool send_all(int socket, const void* bytes, std::size_t size) {
  return ::send(socket, bytes, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size);  // a few bytes, that always fit
}
bool receive_all(int socket, void* bytes, std::size_t size, const Deadline& deadline) {
  auto* at = static_cast<std::byte*>(bytes);
  while (size > 0) {
    pollfd wait{socket, POLLIN, 0};
    if (::poll(&wait, 1, deadline.milliseconds()) <= 0 && deadline.is_over()) return false;
    const ssize_t got = ::recv(socket, at, size, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

/// What a process says first to whom it connects with.
struct Hello {
  char magic[8] = {'k', 'i', 'l', 'n', 'r', 'a', 'n', 'k'};
  std::int32_t rank = 0, size = 0;
  std::uint16_t port = 0, unused = 0;  // where it waits for others
};

struct Guest {
  Socket socket;
  Hello hello;
};

/// The next that is a rank of this launch; whoever else connects is sent away.
Guest welcome(int listening, const Launch& launch, const std::vector<int>& missing, const Deadline& deadline) {
  for (;;) {
    pollfd wait{listening, POLLIN, 0};
    if (::poll(&wait, 1, deadline.milliseconds()) <= 0) {
      require<IoError>(!deadline.is_over(), "ranks: rank ", missing.front(), " has not come to port ",
                       ntohs(place_by(::getsockname, listening).port), " in time");
      continue;
    }
    Guest guest{Socket(::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC)), {}};
    Hello& hello = guest.hello;
    const Hello expected;
    // Who says nothing does not keep the others waiting for long.
    if (guest.socket.get() < 0 || !receive_all(guest.socket.get(), &hello, sizeof hello, Deadline(5)) ||
        std::memcmp(hello.magic, expected.magic, sizeof hello.magic) != 0)
      continue;
    require<IoError>(hello.size == launch.size && std::ranges::find(missing, hello.rank) != missing.end(),
                     "ranks: rank ", hello.rank, " of ", hello.size, " comes where rank ", missing.front(), " of ",
                     launch.size, " is expected: another launch has the same port, or two processes the same rank");
    return guest;
  }
}

}  // namespace

Mesh::Mesh(const Launch& launch, double timeout) : connections_(static_cast<std::size_t>(launch.size)) {
  const Deadline deadline(timeout);
  const Place first = resolved(launch);
  std::vector<Place> places(connections_.size());
  std::vector<int> missing;  // that connect with this one
  for (int other = launch.rank + 1; other < launch.size; ++other) missing.push_back(other);
  const auto take = [&](int listening) {
    Guest guest = welcome(listening, launch, missing, deadline);
    std::erase(missing, guest.hello.rank);
    places[static_cast<std::size_t>(guest.hello.rank)] = {place_by(::getpeername, guest.socket.get()).address,
                                                          guest.hello.port};
    to(guest.hello.rank).socket = guest.socket.release();
  };
  try {
    const std::size_t table = places.size() * sizeof(Place);
    // A name of this machine may mean itself alone to it, and something else to others.
    const bool here = launch.address == "localhost" || launch.address.starts_with("127.");
    const std::uint32_t reached_at = here ? first.address : htonl(INADDR_ANY);
    if (launch.rank == 0) {
      const Socket waits = listening({reached_at, first.port});
      while (!missing.empty()) take(waits.get());
      for (int other = 1; other < launch.size; ++other)
        require<IoError>(send_all(to(other).socket, places.data(), table), "ranks: rank ", other, " has gone");
    } else {
      to(0).socket = connected(first, 0, deadline).release();
      const Socket waits = listening({reached_at, 0});
      Hello hello;
      hello.rank = launch.rank;
      hello.size = launch.size;
      hello.port = place_by(::getsockname, waits.get()).port;
      const auto greet = [&](int other) {
        require<IoError>(send_all(to(other).socket, &hello, sizeof hello), "ranks: rank ", other, " has gone");
      };
      greet(0);
      require<IoError>(receive_all(to(0).socket, places.data(), table, deadline),
                       "ranks: rank 0 has gone, or waits for others too long");
      for (int other = 1; other < launch.rank; ++other) {
        Place place = places[static_cast<std::size_t>(other)];
        if (is_loopback(place.address)) place.address = first.address;  // it is on rank 0's machine
        to(other).socket = connected(place, other, deadline).release();
        greet(other);
      }
      while (!missing.empty()) take(waits.get());
    }
  } catch (...) {
    close_all();
    throw;
  }
  for (const Connection& connection : connections_) {
    if (connection.socket < 0) continue;
    const int yes = 1;
    ::setsockopt(connection.socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    ::fcntl(connection.socket, F_SETFL, ::fcntl(connection.socket, F_GETFL) | O_NONBLOCK);
  }
}

Mesh::~Mesh() { close_all(); }

void Mesh::close_all() {
  for (Connection& connection : connections_)
    if (connection.socket >= 0) ::close(std::exchange(connection.socket, -1));
}

Waited Mesh::carry(std::vector<Transfer> transfers, double timeout) {
  const Deadline deadline(timeout);
  const auto next = [](auto& parts) { return &parts[parts[0].empty() ? 1 : 0]; };
  // Calls move(bytes) until all are moved or the socket takes no more for now; false: it has gone.
  const auto advance = [&](auto& parts, auto move) {
    while (!next(parts)->empty()) {
      auto& part = *next(parts);
      const ssize_t moved = move(part);
      if (moved < 0 && errno == EINTR) continue;
      if (moved < 0 && errno == EAGAIN) return true;
      if (moved <= 0) return false;
      part = part.subspan(static_cast<std::size_t>(moved));
    }
    return true;
  };
  for (Transfer& transfer : transfers) to(transfer.rank).cut = !next(transfer.out)->empty();
  std::vector<pollfd> waits;
  for (;;) {
    waits.clear();
    int slow = -1;
    for (Transfer& transfer : transfers) {
      const int socket = to(transfer.rank).socket;
      // What cannot be sent any more: its end may have said why, which is to be read.
      if (!advance(transfer.out, [&](auto part) { return ::send(socket, part.data(), part.size(), MSG_NOSIGNAL); }))
        transfer.out = {};
      if (!advance(transfer.in, [&](auto part) { return ::recv(socket, part.data(), part.size(), 0); }))
        return {Waited::Gone, transfer.rank};
      const bool sends = !next(transfer.out)->empty(), receives = !next(transfer.in)->empty();
      to(transfer.rank).cut = sends;
      if (!sends && !receives) continue;
      slow = transfer.rank;
      waits.push_back({socket, static_cast<short>((sends ? POLLOUT : 0) | (receives ? POLLIN : 0)), 0});
    }
    if (waits.empty()) return {};
    if (::poll(waits.data(), waits.size(), deadline.milliseconds()) <= 0 && deadline.is_over())
      return {Waited::Late, slow};
  }
}

void Mesh::send_last(int rank, std::string_view bytes) {
  const Connection& connection = to(rank);
  if (!connection.cut) send_all(connection.socket, bytes.data(), bytes.size());
  ::shutdown(connection.socket, SHUT_WR);
}

bool Mesh::has_ended(int rank) const {
  pollfd end{connections_[static_cast<std::size_t>(rank)].socket, POLLRDHUP, 0};
  return ::poll(&end, 1, 0) > 0;
}

}  // namespace kiln
