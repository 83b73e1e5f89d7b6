#include "kiln/collective/mesh.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "kiln/collective/introduction.hpp"
#include "kiln/collective/rank_listener.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"

namespace kiln {
namespace {

using collective::RankListener, collective::IdentifiedRank, collective::Introduction, net::Deadline, net::Socket;

/// An IPv4 address in network byte order, as it is sent.
struct RankAddress {
  std::uint32_t address = 0;
  std::uint16_t port = 0, unused = 0;
};

RankAddress peer_of(const net::Stream& stream) {
  sockaddr_in name{};
  socklen_t length = sizeof name;
  ::getpeername(stream.socket(), reinterpret_cast<sockaddr*>(&name), &length);
  return {name.sin_addr.s_addr, name.sin_port};
}

bool is_loopback(std::uint32_t address) { return ntohl(address) >> 24 == 127; }

net::Address name_of(const RankAddress& address) {
  char host[INET_ADDRSTRLEN] = {};
  ::inet_ntop(AF_INET, &address.address, host, sizeof host);
  return {host, ntohs(address.port)};
}

RankAddress resolved(const Launch& launch) {
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

Socket listening(const RankAddress& address) try {
  return net::tcp_listen(name_of(address));
} catch (const IoError& error) {
  fail<IoError>("ranks: cannot wait at port ", ntohs(address.port), ": ", error.message());
}

/// Connects; tries again until the other side listens.
Socket connected(const RankAddress& address, int rank, const Deadline& deadline) {
  for (;;) {
    try {
      return net::tcp_connect(name_of(address), deadline);
    } catch (const IoError& error) {
      if (deadline.is_over())
        fail<IoError>("ranks: rank ", rank, " cannot be reached at ", name_of(address).text(), ": ", error.message());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

/// Introduces this rank. One that is asked by very many may end a connection before it has said anything: this rank
/// comes again then.
std::unique_ptr<net::Stream> introduced(Socket socket, const RankAddress& address, int rank,
                                        const Introduction& introduction, const collective::Hello& hello,
                                        const Deadline& deadline) {
  for (double pause = 0.02;; pause = std::min(2 * pause, 1.0)) {
    auto stream = introduction.connected(std::move(socket), rank);
    bool answered = false;
    try {
      introduction.introduce(*stream, hello, deadline, answered);
      return stream;
    } catch (const IoError&) {
      if (answered || !introduction.has_secret() || deadline.seconds_left() < pause) throw;
    }
    stream.reset();
    std::this_thread::sleep_for(std::chrono::duration<double>(pause));
    socket = connected(address, rank, deadline);
  }
}

/// False: the other rank has ended, or is late.
bool receives(net::Stream& stream, std::span<std::byte> place, const Deadline& deadline) {
  try {
    return net::read_all(stream, place, deadline);
  } catch (const IoError&) { return false; }
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
  const Introduction introduction(launch);
  connections_.resize(static_cast<std::size_t>(launch.size));
  const Deadline deadline(timeout);
  const RankAddress first = resolved(launch);
  std::vector<RankAddress> addresses(connections_.size());
  std::vector<int> missing;  // the ranks that connect with this one
  for (int other = launch.rank + 1; other < launch.size; ++other) missing.push_back(other);
  const auto take = [&](RankListener& listener) {
    IdentifiedRank identified = listener.next(missing, deadline);
    std::erase(missing, identified.hello.rank);
    addresses[static_cast<std::size_t>(identified.hello.rank)] = {peer_of(*identified.stream).address,
                                                                  identified.hello.port};
    to(identified.hello.rank).stream = std::move(identified.stream);
  };
  const auto table = std::as_writable_bytes(std::span(addresses));
  // A host name may resolve to a loopback address on its own machine alone, so rank 0 listens at all addresses unless
  // told otherwise.
  const bool here = launch.address == "localhost" || launch.address.starts_with("127.");
  const std::uint32_t reached_at = here ? first.address : htonl(INADDR_ANY);
  if (launch.rank == 0) {
    RankListener listener(listening({reached_at, first.port}), launch, introduction);
    while (!missing.empty()) take(listener);
    for (int other = 1; other < launch.size; ++other)
      net::write_all(*to(other).stream, table, std::max(deadline.seconds_left(), 1.0));
    return;
  }
  Socket socket = connected(first, 0, deadline);
  RankListener listener(listening({reached_at, 0}), launch, introduction);
  const auto hello = introduction.hello(launch.rank, launch.size, htons(listener.port()));
  const auto greet = [&](Socket socket, const RankAddress& address, int other) {
    to(other).stream = introduced(std::move(socket), address, other, introduction, hello, deadline);
  };
  greet(std::move(socket), first, 0);
  require<IoError>(receives(*to(0).stream, table, deadline), "ranks: rank 0 has ended, or waited for others too long");
  for (int other = 1; other < launch.rank; ++other) {
    RankAddress address = addresses[static_cast<std::size_t>(other)];
    if (is_loopback(address.address)) address.address = first.address;  // the rank is on rank 0's machine
    greet(connected(address, other, deadline), address, other);
  }
  while (!missing.empty()) take(listener);
}

Mesh::~Mesh() = default;

Waited Mesh::carry(std::vector<Transfer> transfers, double timeout) {
  const Deadline deadline(timeout);
  const auto next = [](auto& parts) { return &parts[parts[0].empty() ? 1 : 0]; };
  // Calls move(bytes) until all bytes are moved or the stream takes no more for now, which adds to `waits` what poll()
  // is to wait for; false: the connection has ended.
  const auto advance = [&](auto& parts, short& waits, auto move) {
    while (!next(parts)->empty()) {
      auto& part = *next(parts);
      const net::Moved moved = move(part);
      if (moved.ended || !moved.failure.empty()) return false;
      part = part.subspan(moved.bytes);
      waits = static_cast<short>(waits | moved.waits);
      if (moved.waits != 0) break;
    }
    return true;
  };
  for (Transfer& transfer : transfers) to(transfer.rank).cut = !next(transfer.out)->empty();
  std::vector<pollfd> waits;
  for (;;) {
    waits.clear();
    int slow = -1;
    for (Transfer& transfer : transfers) {
      net::Stream& stream = *to(transfer.rank).stream;
      short events = 0;
      // Where sending fails, the other end may have sent its reason, which is still to be read.
      if (!advance(transfer.out, events, [&](auto part) { return stream.write(part); })) transfer.out = {};
      if (!advance(transfer.in, events, [&](auto part) { return stream.read(part); }))
        return {Waited::Gone, transfer.rank};
      to(transfer.rank).cut = !next(transfer.out)->empty();
      if (events == 0) continue;
      slow = transfer.rank;
      waits.push_back({stream.socket(), events, 0});
    }
    if (waits.empty()) return {};
    if (::poll(waits.data(), waits.size(), deadline.milliseconds()) <= 0 && deadline.is_over())
      return {Waited::Late, slow};
  }
}

void Mesh::send_last(int rank, std::string_view bytes) {
  const Connection& connection = to(rank);
  if (!connection.cut) (void)connection.stream->write(std::as_bytes(std::span(bytes)));  // a few, which always fit
  connection.stream->finish();
}

bool Mesh::has_ended(int rank) const {
  pollfd end{connections_[static_cast<std::size_t>(rank)].stream->socket(), POLLRDHUP, 0};
  return ::poll(&end, 1, 0) > 0;
}

}  // namespace kiln
