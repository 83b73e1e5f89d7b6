// A bad network between two programs of this machine: whatever connects with the proxy is connected with the target,
// through delays, a narrow line, and breaks after so many bytes.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <limits>
#include <list>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace kiln::test {

/// What happens to the bytes of one direction.
struct Faults {
  double delay = 0;                                               // seconds that each byte takes
  double bytes_per_second = 0;                                    // 0: as many as come
  std::size_t drop_at = std::numeric_limits<std::size_t>::max();  // the connection is lost after so many bytes
  std::size_t piece = 64 << 10;                                   // bytes that are passed on at once
  std::size_t double_at = 0, swap_at = 0;  // the piece with that byte comes twice, or its halves change places; 0: none
};

class FaultyProxy {
  using Clock = std::chrono::steady_clock;

 public:
  explicit FaultyProxy(int target_port, Faults to_server = {}, Faults to_client = {},
                       const std::string& target_host = "127.0.0.1")
      : target_(name_of(target_host, target_port)), to_server_(to_server), to_client_(to_client) {
    sockaddr_in name = name_of("127.0.0.1", 0);
    socklen_t length = sizeof name;
    if (::bind(listening_, reinterpret_cast<const sockaddr*>(&name), length) != 0 || ::listen(listening_, 64) != 0 ||
        ::getsockname(listening_, reinterpret_cast<sockaddr*>(&name), &length) != 0)
      throw std::runtime_error("the proxy cannot listen");
    port_ = ntohs(name.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }
  FaultyProxy(const FaultyProxy&) = delete;
  FaultyProxy& operator=(const FaultyProxy&) = delete;
  ~FaultyProxy() {
    ::shutdown(listening_, SHUT_RDWR);
    acceptor_.join();
    ::close(listening_);
    drop();
  }

  int port() const { return port_; }
  /// Breaks all connections that there are; later ones are connected.
  void drop() {
    std::list<std::unique_ptr<Line>> lines;
    {
      const std::lock_guard lock(mutex_);
      lines.swap(lines_);
    }
  }
  /// For connections from now on.
  void set(Faults to_server, Faults to_client) {
    const std::lock_guard lock(mutex_);
    to_server_ = to_server;
    to_client_ = to_client;
  }
  /// The bytes that have come from clients, and from the server.
  std::size_t from_clients() const { return from_clients_; }
  std::size_t from_server() const { return from_server_; }

 private:
  /// One direction: a thread reads into a queue, another writes what is due.
  class Direction {
   public:
    Direction(int from, int to, Faults faults, std::atomic<std::size_t>& count)
        : from_(from), to_(to), faults_(faults), count_(count) {
      reader_ = std::thread([this] { read(); });
      writer_ = std::thread([this] { write(); });
    }
    ~Direction() {
      {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
        changed_.notify_all();
      }
      reader_.join();
      writer_.join();
    }

   private:
    static constexpr std::size_t kMostWaiting = 1 << 20;  // bytes, so that a slow reader is felt by the sender

    void read() {
      std::vector<char> place(faults_.piece);
      for (std::size_t all = 0; all < faults_.drop_at;) {
        const auto got = ::recv(from_, place.data(), std::min(place.size(), faults_.drop_at - all), 0);
        if (got <= 0) break;
        std::string piece(place.data(), static_cast<std::size_t>(got));
        const auto has = [&](std::size_t at) { return at > 0 && at >= all && at < all + piece.size(); };
        if (has(faults_.swap_at)) std::rotate(piece.begin(), piece.begin() + got / 2, piece.end());
        if (has(faults_.double_at)) piece += std::string(piece);
        all += static_cast<std::size_t>(got);
        count_ += static_cast<std::size_t>(got);
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stopped_ || bytes_ < kMostWaiting; });
        if (stopped_) return;
        bytes_ += piece.size();
        queue_.push_back({Clock::now() + seconds(faults_.delay), std::move(piece)});
        dropped_ = all >= faults_.drop_at;
        changed_.notify_all();
      }
      const std::lock_guard lock(mutex_);
      ended_ = true;
      changed_.notify_all();
    }
    void write() {
      for (;;) {
        std::pair<Clock::time_point, std::string> next;
        {
          std::unique_lock lock(mutex_);
          changed_.wait(lock, [&] { return stopped_ || ended_ || !queue_.empty(); });
          if (stopped_) return;
          if (queue_.empty()) break;
          next = std::move(queue_.front());
          queue_.pop_front();
          bytes_ -= next.second.size();
          changed_.notify_all();
          if (changed_.wait_until(lock, next.first, [&] { return stopped_; })) return;
        }
        for (std::size_t at = 0; at < next.second.size();) {
          const auto sent = ::send(to_, next.second.data() + at, next.second.size() - at, MSG_NOSIGNAL);
          if (sent <= 0) return;
          at += static_cast<std::size_t>(sent);
          if (faults_.bytes_per_second > 0) {
            std::unique_lock lock(mutex_);
            if (changed_.wait_for(lock, seconds(static_cast<double>(sent) / faults_.bytes_per_second),
                                  [&] { return stopped_; }))
              return;
          }
        }
      }
      if (dropped_) {  // both ends lose the connection
        ::shutdown(from_, SHUT_RDWR);
        ::shutdown(to_, SHUT_RDWR);
      } else {
        ::shutdown(to_, SHUT_WR);
      }
    }
    static Clock::duration seconds(double count) {
      return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(count));
    }

    const int from_, to_;
    const Faults faults_;
    std::atomic<std::size_t>& count_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::pair<Clock::time_point, std::string>> queue_;
    std::size_t bytes_ = 0;
    bool stopped_ = false, ended_ = false, dropped_ = false;
    std::thread reader_, writer_;
  };

  struct Line {
    Line(FaultyProxy& proxy, int client_socket, int server_socket) : client(client_socket), server(server_socket) {
      there = std::make_unique<Direction>(client, server, proxy.to_server_, proxy.from_clients_);
      back = std::make_unique<Direction>(server, client, proxy.to_client_, proxy.from_server_);
    }
    ~Line() {
      ::shutdown(client, SHUT_RDWR);
      ::shutdown(server, SHUT_RDWR);
      there.reset();
      back.reset();
      ::close(client);
      ::close(server);
    }
    const int client, server;
    std::unique_ptr<Direction> there, back;
  };

  static sockaddr_in name_of(const std::string& host, int port) {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(static_cast<std::uint16_t>(port));
    ::inet_pton(AF_INET, host.c_str(), &name.sin_addr);
    return name;
  }

  void accept_all() {
    for (;;) {
      const int client = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
      if (client < 0) return;
      const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
      if (::connect(server, reinterpret_cast<const sockaddr*>(&target_), sizeof target_) != 0) {
        ::close(client);
        ::close(server);
        continue;
      }
      for (const int each : {client, server}) ::setsockopt(each, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
      const std::lock_guard lock(mutex_);
      lines_.push_back(std::make_unique<Line>(*this, client, server));
    }
  }

  const sockaddr_in target_;
  std::mutex mutex_;
  Faults to_server_, to_client_;
  std::list<std::unique_ptr<Line>> lines_;
  std::atomic<std::size_t> from_clients_ = 0, from_server_ = 0;
  const int listening_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int port_ = 0;
  std::thread acceptor_;
};

}  // namespace kiln::test
