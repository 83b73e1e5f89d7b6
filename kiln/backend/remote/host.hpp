// Host lends devices to programs on other machines. `host(device, {.port = 3000})` is all that a program needs
// (hosting.hpp); a Host itself takes connections of any kind.
#pragma once
#include <chrono>
#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "kiln/backend/remote/counters.hpp"
#include "kiln/backend/remote/session.hpp"

namespace kiln::remote {

struct HostSettings {
  std::string token{};  // that clients have to show; empty: none
  double window = 60;   // seconds for which a session waits for a client that lost its connection
  std::size_t most_sessions = 64;
  SessionLimits limits{};           // of each session
  double greeting = 10;             // seconds for a connection to show its token, however busy it is
  std::size_t most_strangers = 64;  // connections that have not; one more ends the oldest of the busiest address
  double ticket = 60;               // seconds for which another server may begin to send a value
  /// Connects to another server, for values that go there without passing the client. If it is empty, they cannot.
  Exchange::Dial dial{};
};

class Host {
 public:
  /// The first device is the one that clients get who name none. Throws ArgumentError where there is none.
  explicit Host(const std::vector<Device>& devices, HostSettings settings = {});
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  /// Serves a client in threads of its own.
  void attach(std::unique_ptr<net::Connection> connection);
  /// Takes no more sessions, lets those that there are finish what has come, for at most so many seconds, and ends them with
  /// a sentence.
  void drain(double seconds);
  HostCounters counters() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Client;  // a connection
  struct Kept;    // a session, with or without a connection

  void drop_stranger();
  void serve(Client& client);
  std::shared_ptr<Kept> welcome(Client& client, std::span<const std::byte> message);
  std::shared_ptr<Kept> kept_for(const Client& client, const Hello& hello);
  const Device& device_for(const std::string& name) const;
  void serve_session(Client& client, Kept& kept);
  /// Applies a frame, whose last bytes are `placed`, and returns false if the session has ended.
  bool apply(Kept& kept, Outbox& outbox, const net::Message& message, std::size_t placed);
  /// Returns early where the session ends, or goes on by another connection.
  void wait_for_rate(const Client& client, const Kept& kept, Clock::time_point until);
  void end_session(std::uint64_t number);
  void watch();

  std::vector<Device> devices_;
  const HostSettings settings_;
  Exchange exchange_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<std::unique_ptr<Client>> clients_;  // the oldest first
  std::map<std::uint64_t, std::shared_ptr<Kept>> sessions_;
  HostCounters counters_;
  std::uint64_t last_session_ = 0;
  bool closing_ = false;
  std::thread watcher_;  // the last member: it uses the others
};

}  // namespace kiln::remote
