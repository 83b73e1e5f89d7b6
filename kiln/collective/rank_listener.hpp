// The listening socket of a rank: accepts connections and finds out which of them are ranks.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kiln/collective/introduction.hpp"
#include "kiln/net/deadline.hpp"
#include "kiln/net/stream.hpp"

namespace kiln::collective {

struct IdentifiedRank {
  std::unique_ptr<net::Stream> stream;
  Hello hello;
};

/// All connections are read side by side, so that one that sends nothing, or nonsense, or does not know the secret,
/// only takes a slot among those that are not identified yet.
class RankListener {
 public:
  /// `launch` and `introduction` must live as long as this object.
  RankListener(net::Socket listening, const Launch& launch, const Introduction& introduction)
      : listening_(std::move(listening)), launch_(launch), introduction_(introduction) {}
  std::uint16_t port() const;
  /// Returns the next connection that is one of the missing ranks. Throws IoError where none comes in time.
  IdentifiedRank next(const std::vector<int>& missing, const net::Deadline& deadline);

 private:
  enum class Step { Handshake, Hello, Proof, Answer };
  struct PendingConnection {
    std::unique_ptr<net::Stream> stream;
    net::Deadline deadline;
    Step step = Step::Handshake;
    std::vector<std::byte> in, out = {};  // of this step
    std::size_t received = 0, sent = 0;
    short waits = 0;  // for poll()
    Hello hello = {};
    Nonce theirs = {}, ours = {};
  };
  enum class Reply { More, NotARank, Identified };
  static constexpr std::size_t kMaxPending = 64;  // and one for each rank; who is least far is dropped beyond

  Reply advance(PendingConnection& connection);
  Reply finish_step(PendingConnection& connection);
  Reply move_bytes(PendingConnection& connection) const;
  static void begin(PendingConnection& connection, Step step, std::size_t expected, std::vector<std::byte> out = {});
  void accept_all();

  net::Socket listening_;
  const Launch& launch_;
  const Introduction& introduction_;
  std::vector<PendingConnection> pending_;
  std::string unexpected_;  // describes somebody who came but was not expected
};

}  // namespace kiln::collective
