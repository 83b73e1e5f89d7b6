// Outbox: messages on their way to a connection. A thread of its own sends them, so that whoever posts one need not wait for
// the network. What has to survive a lost connection is kept until the other end has confirmed it.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "kiln/core/tensor_data.hpp"
#include "kiln/net/connection.hpp"

namespace kiln::remote {

/// A message: bytes, and perhaps a part of a tensor's elements after them, which are sent from where they are.
struct Outgoing {
  std::vector<std::byte> head;
  std::shared_ptr<const TensorData> data{};
  std::size_t offset = 0, count = 0;  // of the bytes of `data`
  std::uint64_t number = 0;  // of a message that is kept until it is confirmed; 0: it is not (Outbox gives numbers)

  std::size_t size() const { return head.size() + count; }
};

class Outbox {
 public:
  enum class WhenLost : std::uint8_t { Close, Keep };
  /// post() waits while this many bytes wait to be sent or confirmed. When the connection is lost, the outbox is closed, or
  /// keeps what it has for another connection.
  Outbox(std::size_t most_bytes, WhenLost when_lost)
      : most_(most_bytes), when_lost_(when_lost), sender_([this] { send_all(); }) {}
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  /// Where messages go from now on, beginning with the first that is kept; null where there is no connection for now.
  void connect(std::shared_ptr<net::Connection> connection);
  /// A small message is sent in the calling thread where none is before it.
  void post(Outgoing message);
  /// Never waits, neither for room nor for the network. False where there is no room, and the message is dropped.
  bool try_post(Outgoing message);
  /// Gives a frame of work the next number, writes kind and number before it, and keeps it until it is confirmed. Without
  /// `waits` it waits neither for room nor for the network. `number`, if given, is set before anybody can have received the
  /// frame.
  void post_work(Outgoing entries, bool waits = true, std::atomic<std::uint64_t>* number = nullptr);
  /// The other end has all messages up to this number.
  void confirm(std::uint64_t number);
  /// Bytes a second of pieces of tensors that the other end confirms one after the other, as what it computes between other
  /// frames is no time of the link; 0 until that was a megabyte.
  double rate() const;
  /// From here on long messages are sent in fewer bytes, where they have fewer.
  void pack() { packs_ = true; }
  /// Ends the thread, after at most so many seconds in which it sends what it has. Messages that are posted afterwards are
  /// dropped.
  void close(double seconds = 0);
  std::uint64_t sent_bytes() const;

 private:
  void send_all();
  /// `number`, if given, is set to the message's.
  void add(std::unique_lock<std::mutex>& lock, Outgoing message, bool waits = true,
           std::atomic<std::uint64_t>* number = nullptr);
  /// Sends the next message with the lock released meanwhile.
  void send_next(std::unique_lock<std::mutex>& lock);
  bool has_next() const { return connection_ && next_ < messages_.size(); }

  const std::size_t most_;
  const WhenLost when_lost_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Outgoing> messages_;  // those that were sent and are kept, then those to be sent
  std::size_t next_ = 0;           // the first that is to be sent
  std::size_t bytes_ = 0;          // of all of them
  std::uint64_t sent_ = 0, last_number_ = 0;
  std::uint64_t epoch_ = 0;  // of the connection
  std::chrono::steady_clock::time_point timed_since_{};
  std::size_t timed_bytes_ = 0;
  double timed_seconds_ = 0;
  double rate_ = 0;
  std::atomic<bool> packs_{false};
  bool sending_ = false, closed_ = false;
  std::shared_ptr<net::Connection> connection_;
  std::thread sender_;  // the last member: it uses the others
};

}  // namespace kiln::remote
