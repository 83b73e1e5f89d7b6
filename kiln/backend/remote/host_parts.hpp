// These are the records that a host keeps of each connection and of each session.
#pragma once
#include "kiln/backend/remote/host.hpp"

namespace kiln::remote {

struct Host::Client {
  explicit Client(std::unique_ptr<net::Connection> from)
      : connection(std::move(from)), host(connection->peer().substr(0, connection->peer().rfind(':'))) {}

  const std::shared_ptr<net::Connection> connection;
  const std::string host;  // the peer's address, without its port
  const Clock::time_point since = Clock::now();
  std::atomic<bool> greeted{false}, done{false};
  bool dropped = false;  // guarded by the host's mutex
  std::thread thread{};
};

struct Host::Kept {
  Kept(std::uint64_t number, const Device& device, const std::string& peer, const SessionLimits& limits,
       Exchange& exchange)
      : number(number), peer(peer), session(number, device, peer, limits, exchange) {}
  Outgoing goodbye(const Refusal& why) const {
    return {.head = written(Frame::Goodbye, Progress{0, session.applied(), 0}, why)};
  }
  // The next two are called under the host's mutex. What an outbox has sent stays counted when another follows it.
  void take_outbox(std::shared_ptr<Outbox> next) {
    session.counters().bytes_out = sent_bytes();
    outbox = std::move(next);
  }
  std::int64_t sent_bytes() const {
    return session.counters().bytes_out + (outbox ? static_cast<std::int64_t>(outbox->sent_bytes()) : 0);
  }

  const std::uint64_t number;
  const std::string secret = new_secret();
  const std::string peer;
  std::mutex applying;  // held by the connection that serves it
  Session session;
  std::shared_ptr<net::Connection> connection;  // guarded by the host's mutex, like the next two
  std::shared_ptr<Outbox> outbox;
  Clock::time_point lost = Clock::now();
  std::atomic<bool> busy{false}, ended{false};
  std::atomic<Clock::time_point> last_work{Clock::now()};
};

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace kiln::remote
