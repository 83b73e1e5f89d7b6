// Host: lends devices to programs on other machines. `host(device, {.port = 3000})` is all that a program needs
// (hosting.hpp); a Host itself takes connections of any kind.
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "kiln/backend/remote/session.hpp"

namespace kiln::remote {

struct HostSettings {
  std::string token{};  // that clients have to show; empty: none
  double window = 60;   // seconds for which a session waits for a client that lost its connection
  std::size_t most_sessions = 64;
  SessionLimits limits{};  // of each session
  /// Connects to another server, for values that go there without passing the client. Empty: they cannot.
  std::function<std::unique_ptr<net::Connection>(const std::string& address)> dial{};
};

/// What a page or a monitor shows of a session.
struct SessionRow {
  std::uint64_t number = 0;
  std::string peer, device;
  bool connected = false;
  double seconds = 0;  // of computing
  std::int64_t tensors = 0, bytes_held = 0, calls = 0, frames = 0, bytes_in = 0, bytes_out = 0;
};

struct HostCounters {
  std::vector<SessionRow> sessions;
  std::int64_t opened = 0;   // sessions so far
  std::int64_t refused = 0;  // connections with a wrong token, version or device
  std::int64_t broken = 0;   // sessions that ended because of what their client sent
  std::int64_t resumed = 0;  // connections that went on with a session
  bool draining = false;
};
/// In the text format of Prometheus.
std::string prometheus_text(const HostCounters& counters);

class Host final : private Exchange {
 public:
  /// The first device is the one that clients get who name none. Throws ArgumentError where there is none.
  explicit Host(std::vector<Device> devices, HostSettings settings = {});
  ~Host() override;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  /// Serves a client in threads of its own.
  void attach(std::unique_ptr<net::Connection> connection);
  /// Takes no more sessions, lets those that there are finish what has come, for at most so many seconds, and ends them with
  /// a sentence.
  void drain(double seconds);
  HostCounters counters() const;

 private:
  struct Client;  // a connection
  struct Kept;    // a session, with or without a connection
  struct Given {  // a value of another server that nobody has taken yet
    TensorData data;
    std::chrono::steady_clock::time_point since;
  };
  class Giving;  // a connection to another server

  void give(const std::string& address, const std::string& ticket, TensorData data) override;
  TensorData take(const std::string& ticket) override;

  void serve(Client& client);
  std::shared_ptr<Kept> welcome(Client& client, std::span<const std::byte> message);
  std::shared_ptr<Kept> kept_for(const Client& client, const Hello& hello);
  const Device& device_for(const std::string& name) const;
  void serve_session(Client& client, Kept& kept);
  void receive_value(std::shared_ptr<net::Connection> connection, const std::string& ticket);
  void end_session(std::uint64_t number);
  void watch();
  // With the lock:
  /// Takes out the values that nobody has taken in time.
  std::vector<TensorData> late_values();
  /// Closes the connections to other servers that do not go on, or all.
  void close_giving(bool all);

  const std::vector<Device> devices_;
  const HostSettings settings_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<std::unique_ptr<Client>> clients_;
  std::map<std::uint64_t, std::shared_ptr<Kept>> sessions_;
  std::map<std::string, Given> given_;  // by their tickets
  std::set<Giving*> giving_;
  HostCounters counters_;
  std::uint64_t last_session_ = 0;
  bool closing_ = false;
  std::thread watcher_;  // the last member: it uses the others
};

}  // namespace kiln::remote
