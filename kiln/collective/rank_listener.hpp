// Sockets of ranks that are being connected: accepts connections and finds out which of them are ranks.
#pragma once
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kiln/collective/socket_ranks.hpp"

namespace kiln::collective {

class Deadline {
  using Clock = std::chrono::steady_clock;

 public:
  explicit Deadline(double seconds)
      : end_(Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(seconds, 1e6)))) {}
  bool is_over() const { return Clock::now() >= end_; }
  /// The timeout for poll(), at most a minute.
  int milliseconds() const {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - Clock::now()).count();
    return static_cast<int>(std::clamp<decltype(left)>(left + 1, 0, 60'000));
  }

 private:
  Clock::time_point end_;
};

/// An IPv4 address in network byte order, as it is sent.
struct Address {
  std::uint32_t address = 0;
  std::uint16_t port = 0, unused = 0;
};

/// The address of a socket itself, or of its peer.
template <class Get>
Address address_by(Get get, int socket) {
  sockaddr_in name{};
  socklen_t length = sizeof name;
  get(socket, reinterpret_cast<sockaddr*>(&name), &length);
  return {name.sin_addr.s_addr, name.sin_port};
}

/// A socket that is closed by the destructor.
class Socket {
 public:
  explicit Socket(int socket) : socket_(socket) {}
  Socket(Socket&& other) noexcept : socket_(other.release()) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(socket_, other.socket_);
    return *this;
  }
  ~Socket();
  int get() const { return socket_; }
  int release() { return std::exchange(socket_, -1); }

 private:
  int socket_;
};

/// The first message of a process to the process that it connects with.
struct Hello {
  char magic[8] = {'k', 'i', 'l', 'n', 'r', 'a', 'n', 'k'};
  std::int32_t rank = 0, size = 0;
  std::uint16_t port = 0, unused = 0;  // the port at which it listens
};

struct IdentifiedRank {
  Socket socket;
  Hello hello;
};

/// The listening socket of a rank. All connections are read side by side, so that one that sends nothing, or nonsense,
/// only takes a slot among those that are not identified yet.
class RankListener {
 public:
  /// `launch` must live as long as this object.
  RankListener(Socket listening, const Launch& launch) : listening_(std::move(listening)), launch_(launch) {}
  Address address() const { return address_by(::getsockname, listening_.get()); }
  /// Returns the next connection that is one of the missing ranks. Throws IoError where none comes in time.
  IdentifiedRank next(const std::vector<int>& missing, const Deadline& deadline);

 private:
  struct PendingConnection {
    Socket socket;
    Hello hello{};
    std::size_t received = 0;
    Deadline deadline{kPatience};
  };
  enum class Reply { More, NotARank, Hello };
  static constexpr double kPatience = 5;          // seconds
  static constexpr std::size_t kMaxPending = 64;  // where there are more, the oldest is dropped

  static Reply read_hello(PendingConnection& connection);
  void accept_all();

  Socket listening_;
  const Launch& launch_;
  std::vector<PendingConnection> pending_;
  std::string unexpected_;  // describes a rank that came but was not expected
};

}  // namespace kiln::collective
