#include "kiln/collective/mesh.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "kiln/collective/rank_listener.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"

namespace kiln {
namespace {

using collective::Deadline, collective::RankListener, collective::IdentifiedRank, collective::Hello,
    collective::Address, collective::Socket, collective::address_by;

bool is_loopback(std::uint32_t address) { return ntohl(address) >> 24 == 127; }

sockaddr_in name_of(const Address& address) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = address.address;
  name.sin_port = address.port;
  return name;
}

Address resolved(const Launch& launch) {
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

Socket made() { return Socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

Socket listening(const Address& address) {
  Socket socket = made();
  const int yes = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const sockaddr_in name = name_of(address);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0)
    fail<IoError>("ranks: cannot wait at port ", ntohs(address.port), ": ", std::strerror(errno));
  return socket;
}

/// Connects; tries again until the other side listens.
Socket connected(const Address& address, int rank, const Deadline& deadline) {
  const sockaddr_in name = name_of(address);
  for (;;) {
    Socket socket = made();
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0) return socket;
    char words[INET_ADDRSTRLEN] = {};
    ::inet_ntop(AF_INET, &name.sin_addr, words, sizeof words);
    require<IoError>(!deadline.is_over(), "ranks: rank ", rank, " cannot be reached at ", words, ':',
                     ntohs(address.port), ": ", std::strerror(errno));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

bool send_all(int socket, const void* bytes, std::size_t size) {
  return ::send(socket, bytes, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size);  // a few bytes, which always fit
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

/// Checks the limit of open files: each rank has a connection with each other one.
void require_connections(const Launch& launch) {
  constexpr rlim_t kOthers = 64;  // files that a program has open besides
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  require<IoError>(static_cast<rlim_t>(launch.size) + std::min(kOthers, limit.rlim_cur / 2) <= limit.rlim_cur,
                   "ranks: a launch of ", launch.size, " needs as many connections a process, which may have ",
                   limit.rlim_cur, " files open: check the number of ranks; ulimit -n shows the limit");
}

}  // namespace

Mesh::Mesh(const Launch& launch, double timeout) {
  require_connections(launch);
  connections_.resize(static_cast<std::size_t>(launch.size));
  const Deadline deadline(timeout);
  const Address first = resolved(launch);
  std::vector<Address> addresses(connections_.size());
  std::vector<int> missing;  // the ranks that connect with this one
  for (int other = launch.rank + 1; other < launch.size; ++other) missing.push_back(other);
  const auto take = [&](RankListener& listener) {
    IdentifiedRank identified = listener.next(missing, deadline);
    std::erase(missing, identified.hello.rank);
    addresses[static_cast<std::size_t>(identified.hello.rank)] = {
        address_by(::getpeername, identified.socket.get()).address, identified.hello.port};
    to(identified.hello.rank).socket = identified.socket.release();
  };
  try {
    const std::size_t table = addresses.size() * sizeof(Address);
    // A host name may resolve to a loopback address on its own machine alone, so rank 0 listens at all addresses unless
    // told otherwise.
    const bool here = launch.address == "localhost" || launch.address.starts_with("127.");
    const std::uint32_t reached_at = here ? first.address : htonl(INADDR_ANY);
    if (launch.rank == 0) {
      RankListener listener(listening({reached_at, first.port}), launch);
      while (!missing.empty()) take(listener);
      for (int other = 1; other < launch.size; ++other)
        require<IoError>(send_all(to(other).socket, addresses.data(), table), "ranks: rank ", other, " has gone");
    } else {
      to(0).socket = connected(first, 0, deadline).release();
      RankListener listener(listening({reached_at, 0}), launch);
      Hello hello;
      hello.rank = launch.rank;
      hello.size = launch.size;
      hello.port = listener.address().port;
      const auto greet = [&](int other) {
        require<IoError>(send_all(to(other).socket, &hello, sizeof hello), "ranks: rank ", other, " has gone");
      };
      greet(0);
      require<IoError>(receive_all(to(0).socket, addresses.data(), table, deadline),
                       "ranks: rank 0 has ended, or waited for others too long");
      for (int other = 1; other < launch.rank; ++other) {
        Address address = addresses[static_cast<std::size_t>(other)];
        if (is_loopback(address.address)) address.address = first.address;  // the rank is on rank 0's machine
        to(other).socket = connected(address, other, deadline).release();
        greet(other);
      }
      while (!missing.empty()) take(listener);
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
  // Calls move(bytes) until all bytes are moved or the socket takes no more for now; false: the connection has ended.
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
      // Where sending fails, the other end may have sent its reason, which is still to be read.
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
