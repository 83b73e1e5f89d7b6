// Link: a client's side of its session. It numbers frames, sends them again over a new connection when one is lost, and takes
// what the server says: answers, pieces of reads, failures of values.
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

#include "kiln/backend/remote/outbox.hpp"
#include "kiln/backend/remote/protocol.hpp"
#include "kiln/backend/remote/request.hpp"
#include "kiln/ops/unreported_errors.hpp"

namespace kiln::remote {

using Dial = std::function<std::unique_ptr<net::Connection>()>;

/// Whether messages are sent in fewer bytes. Automatic: where the other end is on another machine, and the first megabyte
/// shows that the link is slower than packing.
enum class Compression : std::uint8_t { Automatic, Never, Always };

struct ClientSettings {
  std::string token{};
  std::string device{};  // of the server; empty: its first one
  /// How other servers reach it, as dial_of() takes it; empty: by the name that its connection has here.
  std::string address{};
  /// Seconds in which a lost connection may come back, at most as many as the server keeps the session.
  double window = 30;
  /// Seconds in which a server has to answer when a connection begins.
  double greeting = 10;
  Compression compression = Compression::Automatic;
  /// Bytes that may wait to be sent or acknowledged; then operations wait.
  std::size_t most_waiting = 256 << 20;
};

class Link {
 public:
  /// Connects. Throws DeviceError, or what `dial` throws. The thread that receives keeps the link until it ends.
  static std::shared_ptr<Link> open(Dial dial, ClientSettings settings);
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  /// Says that the session may be freed, and ends it. What was posted before is sent. May be called more than once, and from
  /// any thread, the receiving one included.
  void close();

  /// Sends a Work frame: its entries, and perhaps a part of a tensor after them. Throws the reason if the session has ended.
  void post(std::vector<std::byte> entries, std::shared_ptr<const TensorData> data = {}, std::size_t offset = 0,
            std::size_t count = 0);
  /// Notes a request, and sends the frame whose entries ask.
  void post_request(const Ref<Request>& request, std::vector<std::byte> entries);
  std::uint64_t next_request() { return ++last_request_; }
  /// Ends the session, because this program lacks memory for what it has begun to write; throws that.
  [[noreturn]] void end_without_memory();
  /// Throws the reason if the session has ended.
  void check() const {
    if (lost_.load(std::memory_order_acquire)) throw_lost();
  }

  const Welcome& welcome() const { return welcome_; }
  const std::string& peer() const { return peer_; }
  /// Whether the peer's name means this machine, and for another machine that one.
  bool stays_here() const;
  /// For servers that send it values.
  const std::string& address() const { return settings_.address.empty() ? peer_ : settings_.address; }
  /// The first value that may still become a failure.
  std::uint64_t settled() const { return settled_.load(std::memory_order_acquire); }
  bool is_lost() const { return lost_.load(std::memory_order_acquire); }

  /// The failure of a value, or null. Fast while nothing has failed.
  Ref<Failure> failure_of(std::uint64_t value);
  void forget_failure(std::uint64_t value);
  /// From which value on the calls are those of another thread.
  void note_requester(std::uint64_t value);
  UnreportedErrors& unreported() { return unreported_; }

  std::uint64_t sent_bytes() const { return outbox_.sent_bytes(); }
  std::uint64_t received_bytes() const { return received_; }
  int reconnections() const { return reconnections_; }

 private:
  Link(Dial dial, ClientSettings settings);
  /// Opens a connection, and returns it with the server's answer, for which it waits that long. Throws DeviceError where the
  /// server refuses.
  std::pair<std::shared_ptr<net::Connection>, Welcome> greet(double seconds);
  /// Ends the session where a frame would be too long to be sent: it could only be tried again and again.
  void require_length(std::size_t bytes);
  void receive_all(std::shared_ptr<net::Connection> connection);
  /// How many last bytes of a piece that is `placed` are not in the message.
  void receive(std::span<const std::byte> message, std::size_t placed);
  std::span<std::byte> place_in(std::span<const std::byte> begin, std::size_t length, Ref<Request>& request);
  void pack();
  /// Null where the session is over.
  std::shared_ptr<net::Connection> reconnect();
  void ask_again(std::uint64_t applied);
  void end(const Refusal& why);
  void lose(const Refusal& why);
  void lose(const Ref<Failure>& why);
  void fail_requests();
  [[noreturn]] void throw_lost() const;
  Ref<Failure> read_roots(wire::Reader& in, const Ref<Requester>& requester);
  Ref<Requester> requester_of(std::uint64_t value);
  Ref<Request> pending(std::uint64_t number);

  const Dial dial_;
  const ClientSettings settings_;
  Outbox outbox_;
  Welcome welcome_;
  std::string peer_;
  Ref<Failure> no_memory_;  // made when there was some
  std::atomic<std::uint64_t> last_request_{0};
  std::atomic<std::uint64_t> settled_{0}, received_{0};
  std::atomic<int> reconnections_{0};
  bool may_pack_ = false;       // of the receiver: it is to be found out whether that pays
  std::uint64_t sequence_ = 0;  // of the last message of this connection; the receiver's

  mutable std::mutex mutex_;  // guards the members below
  std::shared_ptr<net::Connection> connection_;
  bool closing_ = false;
  std::atomic<bool> lost_{false};
  Ref<Failure> why_lost_;
  std::map<std::uint64_t, Ref<Request>> requests_;
  std::atomic<bool> any_failed_{false};
  std::unordered_map<std::uint64_t, Ref<Failure>> failed_;
  std::unordered_map<std::uint64_t, Ref<Failure>> roots_;
  struct RequestedFrom {
    std::uint64_t value;
    Ref<Requester> requester;
  };
  std::deque<RequestedFrom> requesters_;
  UnreportedErrors unreported_;
  std::thread receiver_;
};

}  // namespace kiln::remote
