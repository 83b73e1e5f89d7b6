// host() lends a device to programs on other machines, over WebSockets, in one line.
//
//   const auto running = host(Device::best(), {.port = 3000, .token = "..."});
//   running->wait();
//
// Their programs say Device::parse("remote:HOST:3000"), or have KILN_DEVICE=remote:HOST:3000 in their environment.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "kiln/backend/remote/host.hpp"

namespace kiln {

struct HostOptions {
  std::string address = "127.0.0.1";  // "0.0.0.0": for all who can reach this machine; it needs a token then
  int port = 3000;                    // 0: a free one
  std::string token{};                // that clients have to show; empty: none
  std::string certificate{}, key{};   // PEM files for TLS; both or none
  double window = 60;                 // seconds for which a session waits for a client that lost its connection
  std::size_t most_sessions = 64;
  remote::SessionLimits limits{};  // of each session
  /// This says whether clients may send tensors from here to other servers. It lets them make this machine connect to others.
  bool sends_to_servers = false;
  /// Pages of these servers may use the devices, too, as net::ServerOptions::origins has them. Without them, no page may.
  std::vector<std::string> origins = {};
};

/// Hosting is a server that runs until it is destroyed. "/" is a page of its sessions, "/metrics" the same for
/// Prometheus; with a token both want "?token=...".
class Hosting {
 public:
  virtual ~Hosting() = default;
  virtual int port() const = 0;
  virtual remote::HostCounters counters() const = 0;
  /// Takes no more sessions, and ends those that there are when they have done what has come, or after so many seconds.
  virtual void drain(double seconds = 10) = 0;
  /// Returns when the process gets SIGINT or SIGTERM, after a drain().
  virtual void wait() = 0;
};

/// Lends the devices; clients that name none get the first. Throws IoError where the port is taken, ArgumentError for options
/// without meaning.
std::unique_ptr<Hosting> host(const std::vector<Device>& devices, const HostOptions& options = {});
inline std::unique_ptr<Hosting> host(const Device& device, const HostOptions& options = {}) {
  return host(std::vector<Device>{device}, options);
}

}  // namespace kiln
