#include "kiln/net/stream.hpp"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "kiln/core/error/error.hpp"

namespace kiln::net {
namespace {

class TcpStream final : public Stream {
 public:
  using Stream::Stream;

  Moved read(std::span<std::byte> place) override {
    for (;;) {
      const ssize_t got = ::recv(socket(), place.data(), place.size(), 0);
      if (got > 0) return {.bytes = static_cast<std::size_t>(got)};
      if (got == 0) return {.ended = true};
      if (errno == EINTR) continue;
      if (errno == EAGAIN) return {.waits = POLLIN};
      return {.failure = std::strerror(errno)};
    }
  }
  Moved write(std::span<const std::byte> bytes) override {
    for (;;) {
      const ssize_t sent = ::send(socket(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent >= 0) return {.bytes = static_cast<std::size_t>(sent)};
      if (errno == EINTR) continue;
      if (errno == EAGAIN) return {.waits = POLLOUT};
      return {.failure = std::strerror(errno)};
    }
  }
  void finish() noexcept override { ::shutdown(socket(), SHUT_WR); }
};

}  // namespace

Stream::Stream(Socket socket, std::string peer)
    : socket_(std::make_shared<const Socket>(std::move(socket))), peer_(std::move(peer)) {}

void Stream::shut() const noexcept { shut_socket(socket()); }

void shut_socket(int socket) noexcept { ::shutdown(socket, SHUT_RDWR); }

std::unique_ptr<Stream> tcp_stream(Socket socket, std::string peer) {
  return std::make_unique<TcpStream>(std::move(socket), std::move(peer));
}

void shake_hands(Stream& stream, const Deadline& deadline) {
  for (;;) {
    const Moved moved = stream.handshake();
    require<IoError>(moved.failure.empty(), "net: ", stream.peer(), ": ", moved.failure);
    require<IoError>(!moved.ended, "net: ", stream.peer(),
                     " has closed the connection while TLS began: does it speak TLS?");
    if (moved.waits == 0) return;
    require<IoError>(wait_for(stream.socket(), moved.waits, deadline), "net: ", stream.peer(),
                     " does not answer in time when TLS begins: does it speak TLS?");
  }
}

std::size_t read_some(Stream& stream, std::span<std::byte> place, const Deadline& deadline, int wake) {
  for (;;) {
    const Moved moved = stream.read(place);
    require<IoError>(moved.failure.empty(), "net: the connection with ", stream.peer(), " is lost: ", moved.failure);
    if (moved.bytes > 0 || moved.ended) return moved.bytes;
    require<IoError>(wait_for(stream.socket(), moved.waits, deadline, wake), "net: ", stream.peer(),
                     " has sent nothing for too long");
    pollfd woken{wake, POLLIN, 0};
    if (wake >= 0 && ::poll(&woken, 1, 0) > 0) return 0;
  }
}

bool read_all(Stream& stream, std::span<std::byte> place, const Deadline& deadline) {
  while (!place.empty()) {
    const std::size_t got = read_some(stream, place, deadline);
    if (got == 0) return false;
    place = place.subspan(got);
  }
  return true;
}

void write_all(Stream& stream, std::span<const std::byte> bytes, double stalled) {
  while (!bytes.empty()) {
    const Moved moved = stream.write(bytes);
    require<IoError>(moved.failure.empty(), "net: the connection with ", stream.peer(), " is lost: ", moved.failure);
    bytes = bytes.subspan(moved.bytes);
    if (moved.waits == 0) continue;
    require<IoError>(wait_for(stream.socket(), moved.waits, stalled > 0 ? Deadline(stalled) : Deadline::never()),
                     "net: ", stream.peer(), " has taken nothing of what was sent for ", stalled, " s");
  }
}

void drain(Stream& stream, double seconds, bool until_sent) noexcept {
  const Deadline deadline(seconds);
  std::array<std::byte, 16 << 10> dropped;
  do {
    int unsent = 0;
    if (until_sent && ::ioctl(stream.socket(), SIOCOUTQ, &unsent) == 0 && unsent == 0) return;
    const ssize_t got = ::recv(stream.socket(), dropped.data(), dropped.size(), 0);  // below TLS, which may have failed
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return;
    // The other end's word that it has all does not wake poll().
    if (got < 0) wait_for(stream.socket(), POLLIN, Deadline(until_sent ? 0.005 : deadline.seconds_left()));
  } while (!deadline.is_over());
}

}  // namespace kiln::net
