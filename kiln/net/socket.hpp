// TCP is spoken by sockets that have an owner; this file connects and listens.
#pragma once
#include <optional>
#include <string>
#include <utility>

#include "kiln/net/deadline.hpp"
#include "kiln/net/options.hpp"

namespace kiln::net {

/// Socket owns a socket, which the destructor closes.
class Socket {
 public:
  explicit Socket(int socket = -1) : socket_(socket) {}
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

/// Wake is a descriptor that poll() finds readable once wake() was called (eventfd).
class Wake {
 public:
  Wake();
  int get() const { return socket_.get(); }
  void wake() const noexcept;
  void clear() const noexcept;

 private:
  Socket socket_;
};

/// Connects to the first of the host's addresses that answers; the socket does not block. Throws IoError where there is
/// no such host, nobody listens there, or the deadline passes.
Socket tcp_connect(const Address& address, const Deadline& deadline);
/// Listens at an address; the socket does not block. Throws IoError where the port is taken or the address is another
/// machine's, ArgumentError for an address without a host, which the system would take for all of this machine's.
Socket tcp_listen(const Address& address);
/// Makes an accepted or connected socket one for messages: it does not block, sends small messages at once, and finds
/// out within a minute or two that the other machine is gone.
void prepare_socket(int socket);

/// Returns a socket's own address, or its peer's, in numbers.
Address own_address(int socket);
Address peer_address(int socket);

/// Waits until one of the events of poll() happens to the socket, or `wake` becomes readable. Returns false if the
/// deadline has passed.
bool wait_for(int socket, short events, const Deadline& deadline, int wake = -1);

}  // namespace kiln::net
