// Exchange lets values go from one server to another without passing the client. A session asks for a ticket, its client
// hands that to the other server, and this one shows it together with the value:
//
//   server that gives                             server that receives
//   Hello with the ticket's id, a nonce    ->
//                                          <-     Offer: a nonce, HMAC(key, "receives", both nonces)
//   HMAC(key, "gives", both nonces), Desc  ->     turns it away unless that is right
//   bytes, in pieces                       ->
//                                          <-     Ack: all is here
//
// So a value goes to nobody but the server that made the ticket, comes from nobody but the one that the client named, and
// neither learns the other's token.
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "kiln/backend/remote/protocol.hpp"
#include "kiln/core/tensor_data.hpp"
#include "kiln/net/connection.hpp"
#include "kiln/ops/value.hpp"

namespace kiln::remote {

/// Returns the proof that one knows the ticket's key: HMAC-SHA256 of the role and both nonces. Throws IoError in a
/// build without OpenSSL.
std::string proof_of(const Ticket& ticket, std::string_view role, std::string_view giver_nonce,
                     std::string_view receiver_nonce);

class Exchange {
 public:
  /// Connects with another server; an empty function where values must not go to others.
  using Dial = std::function<std::unique_ptr<net::Connection>(const std::string& address)>;
  /// A ticket is good for so many seconds.
  explicit Exchange(Dial dial, double seconds) : dial_(std::move(dial)), seconds_(seconds) {}
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  bool sends() const { return bool(dial_); }
  /// Returns a ticket for one value. Throws MemoryError where this session waits for more than so many bytes (0: any
  /// number), or for too many values.
  Ticket expect(std::uint64_t session, const Desc& desc, std::int64_t most_bytes);
  /// Sends the elements to the server at `address`. Throws DeviceError where that one has not made the ticket.
  void give(const std::string& address, const Ticket& ticket, const TensorData& data);
  /// Waits for what comes by a ticket of this session. Throws DeviceError where nothing comes in time.
  TensorData take(std::uint64_t session, const std::string& id);
  /// Serves another server, which has shown a ticket; `proved` is set once it has shown that it has the key. Throws
  /// DeviceError where the ticket is none.
  void receive(net::Connection& connection, const Hello& hello, std::atomic<bool>& proved);
  /// Forgets the tickets of a session, which has ended.
  void forget(std::uint64_t session);
  /// Drops tickets and values whose time is over, and closes connections on which nothing moves.
  void watch();
  /// Closes all connections; whoever waits gets an error.
  void close();

 private:
  using Clock = std::chrono::steady_clock;
  enum class State : std::uint8_t { Open, Coming, Here };
  struct Expected {
    Ticket ticket;
    std::uint64_t session;
    Desc desc;
    Clock::time_point until;
    State state = State::Open;
    TensorData data{};
  };
  class Watched;
  using Tickets = std::map<std::string, Expected>;
  /// The caller has the lock. Throws DeviceError where no such ticket waits for its value.
  Expected& open_ticket(const std::string& id);
  /// The caller has the lock. Takes those out that `is_over` says, to be destroyed without it.
  Tickets take_out(const std::function<bool(const Expected&)>& is_over);

  const Dial dial_;
  const double seconds_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Tickets tickets_;  // by their ids
  std::list<Watched*> watched_;
  bool closing_ = false;
};

}  // namespace kiln::remote
