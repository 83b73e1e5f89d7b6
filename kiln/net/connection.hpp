// A Connection lets two programs send each other messages. WebSockets, TLS, pairs in memory and a browser's own sockets are
// kinds of it, so that whoever speaks a protocol knows nothing of the network below.
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kiln/core/function_ref.hpp"

namespace kiln::net {

using Message = std::vector<std::byte>;

/// Place says where the end of a message goes: given its first 64 bytes at least, and the length of all, it returns memory
/// for its last bytes, or none. It must not throw.
using Place = FunctionRef<std::span<std::byte>(std::span<const std::byte> begin, std::size_t length)>;
/// Messages of fewer bytes have no place of their own.
inline constexpr std::size_t kLeastPlaced = 4096;

/// Connection is one end. Messages arrive whole and in order, or not at all. One thread may send while another receives;
/// any thread may close.
class Connection {
 public:
  Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  virtual ~Connection() = default;

  /// Hands the message to the network. Waits while the other end is behind by more than the connection buffers. Throws
  /// IoError, with the other end's name, once the connection is lost or closed.
  virtual void send(std::span<const std::byte> message) = 0;
  /// Sends one message whose end lies elsewhere in memory.
  virtual void send_parts(std::span<const std::byte> begin, std::span<const std::byte> end);
  /// Waits for a message. Returns none once either end has closed the connection in an orderly way. Throws IoError where the
  /// connection was lost, or a message is longer than the limits allow.
  virtual std::optional<Message> receive() = 0;
  /// Waits for a message, and returns what comes before the bytes that went to their place. Where this throws, a part of the
  /// place may have been written.
  virtual std::optional<Message> receive_to(Place place);
  /// From here on a message that arrives with more bytes ends the connection. The limit with which the connection was opened
  /// holds, too.
  virtual void take_at_most(std::size_t bytes);
  /// Ends both directions: calls of send() and receive() that wait return. What was sent before still arrives where the
  /// network permits. May be called more than once.
  virtual void close() noexcept = 0;
  /// Returns who is at the other end, for errors and logs: "127.0.0.1:3000".
  virtual std::string peer() const = 0;
};

/// Listener waits for connections at an address.
class Listener {
 public:
  Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  virtual ~Listener() = default;

  /// Waits for the next connection. Returns null once close() was called.
  virtual std::unique_ptr<Connection> accept() = 0;
  /// Ends accept() in any thread; connections that were accepted live on. May be called more than once.
  virtual void close() noexcept = 0;
};

/// Returns the two ends of one connection inside this program, each of which buffers up to `buffered` bytes that the
/// other has not received (one message is always taken).
std::pair<std::unique_ptr<Connection>, std::unique_ptr<Connection>> connected_pair(std::size_t buffered = 1 << 20);

}  // namespace kiln::net
