// Socket is a WebSocket of the browser, for which any thread may wait. It lives in a thread of this module whose event loop runs, as
// the browser tells of messages there alone.
#pragma once
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "kiln/net/connection.hpp"
#include "kiln/net/options.hpp"

namespace kiln::net::browser {

class Socket {
 public:
  /// Begins to open it; `peer` is its name in errors. Throws IoError where the module has no threads, or the browser no sockets.
  static std::shared_ptr<Socket> open(const std::string& url, std::string peer, const Limits& limits);

  /// Throws IoError where it does not open in so many seconds.
  void wait_until_open(double seconds);
  // The functions of a Connection.
  void send(Message message);
  std::optional<Message> receive();
  void take_at_most(std::size_t bytes);
  void close() noexcept;
  const std::string& peer() const { return peer_; }

  // These run in the thread of the sockets.
  void opened();
  /// Returns memory for a message, or null.
  std::byte* place(std::size_t bytes);
  void received();
  /// Gives the browser what waits, as far as it takes it.
  void pump();
  void closed(std::optional<std::string> why);

 private:
  enum class State : std::uint8_t { Opening, Open, Closed };
  Socket(std::string url, std::string peer, const Limits& limits)
      : url_(std::move(url)), peer_(std::move(peer)), silence_(limits.silence), most_(limits.message_bytes) {}
  /// The caller has the lock.
  void post_pump();
  void refuse(std::string why);

  const std::string url_, peer_;
  const double silence_;
  int number_ = 0;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  State state_ = State::Opening;
  bool closing_ = false, pumping_ = false;
  std::optional<std::string> why_;  // it was lost; none: it is there, or was closed in an orderly way
  std::size_t most_, outgoing_bytes_ = 0, received_bytes_ = 0;
  Message arriving_;
  std::deque<Message> received_, outgoing_;
};

}  // namespace kiln::net::browser
