// Stream carries bytes between two programs, plain (TCP) or over TLS. What speaks a protocol is written once for both.
#pragma once
#include <poll.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "kiln/net/crypto.hpp"
#include "kiln/net/deadline.hpp"
#include "kiln/net/socket.hpp"

namespace kiln::net {

/// Moved says what came of an attempt to move bytes.
struct Moved {
  std::size_t bytes = 0;
  short waits = 0;           // POLLIN or POLLOUT: nothing can be moved before that happens to the socket
  bool ended = false;        // reading: the other end sends nothing more
  std::string failure = {};  // why the connection is lost; empty: it is not
};

/// Stream is one end. One thread may read while another writes. Nothing waits: the functions below do.
class Stream {
 public:
  Stream(Socket socket, std::string peer);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  /// Continues the handshake of TLS, which is done once it neither waits nor fails; a plain stream has none.
  virtual Moved handshake() { return {}; }
  virtual Moved read(std::span<std::byte> place) = 0;
  virtual Moved write(std::span<const std::byte> bytes) = 0;
  /// Tells the other end that this one sends nothing more.
  virtual void finish() noexcept = 0;
  /// Returns bytes that both ends of this TLS connection know, and nobody else (RFC 9266); zeros where there is no TLS.
  virtual Digest binding() const { return {}; }

  /// Ends both directions: whoever waits in any thread finds the end.
  void shut() const noexcept;
  int socket() const { return socket_->get(); }
  /// Returns the socket for those who may have to shut the stream while it lives.
  std::weak_ptr<const Socket> shared_socket() const { return socket_; }
  const std::string& peer() const { return peer_; }

 protected:
  std::shared_ptr<const Socket> socket_;
  std::string peer_;
};

std::unique_ptr<Stream> tcp_stream(Socket socket, std::string peer);

/// Ends both directions of a socket.
void shut_socket(int socket) noexcept;

/// Waits for the handshake. Throws IoError where it fails or the deadline passes.
void shake_hands(Stream& stream, const Deadline& deadline);
/// Waits for bytes and returns their number; 0: the other end sends nothing more, or `wake` became readable. Throws
/// IoError where the connection is lost or the deadline passes.
std::size_t read_some(Stream& stream, std::span<std::byte> place, const Deadline& deadline, int wake = -1);
/// Fills the place. Returns false if the other end has ended before. Throws IoError as read_some does.
bool read_all(Stream& stream, std::span<std::byte> place, const Deadline& deadline);
/// Writes all bytes; each part must be taken within `stalled` seconds (0: in any time). Throws IoError where the
/// connection is lost or stalls.
void write_all(Stream& stream, std::span<const std::byte> bytes, double stalled);
inline void write_all(Stream& stream, std::string_view bytes, double stalled) {
  write_all(stream, std::as_bytes(std::span(bytes)), stalled);
}
/// Reads and drops what still comes until the other end has ended, or has taken all that was sent if `until_sent`, for
/// at most so many seconds: a socket that is closed with unread bytes tells the other end to drop what it has not read
/// yet.
void drain(Stream& stream, double seconds, bool until_sent) noexcept;

}  // namespace kiln::net
