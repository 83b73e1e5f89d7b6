// What two ranks say to each other before they trust: who they are, that they know the launch's secret, and TLS around
// it.
//
//   rank that connects                          rank that listens
//   [TLS, with a certificate of the moment]
//   Hello, 32 random bytes               ->
//                                        <-     32 random bytes
//   HMAC(secret, "connects", all that)   ->     turns it away unless that is right
//                                        <-     HMAC(secret, "listens", all that)
//
// "All that" has what both ends of the TLS connection share, so that nobody in the middle can pass the proofs on.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "kiln/collective/socket_ranks.hpp"
#include "kiln/net/deadline.hpp"
#include "kiln/net/stream.hpp"
#include "kiln/net/tls.hpp"

namespace kiln::collective {

/// The first message of a process to the process that it connects with.
struct Hello {
  std::array<char, 8> magic = {};
  std::int32_t rank = 0, size = 0;
  std::uint16_t port = 0, unused = 0;  // the port at which it listens
};

using Nonce = std::array<std::byte, 32>;

class Introduction {
 public:
  /// Throws ArgumentError for a secret that can be guessed, IoError in a build without OpenSSL if there is a secret.
  explicit Introduction(const Launch& launch);

  bool has_secret() const { return !secret_.empty(); }
  /// The seconds that somebody who connects may take.
  static constexpr double kPatience = 5;
  /// Its first message.
  Hello hello(int rank, int size, std::uint16_t port) const;

  /// A stream over a socket that this rank has accepted, or by which it has connected. The handshake of TLS is still to
  /// come.
  std::unique_ptr<net::Stream> accepted(net::Socket socket) const;
  std::unique_ptr<net::Stream> connected(net::Socket socket, int rank) const;

  enum class Side { Connects, Listens };
  net::Digest proof(Side side, const Hello& hello, const Nonce& theirs, const Nonce& ours,
                    const net::Stream& stream) const;

  /// All of the side that connects. Throws IoError where the other does not know the secret, or turns this rank away;
  /// `answered` says whether it had said anything by then.
  void introduce(net::Stream& stream, const Hello& hello, const net::Deadline& deadline, bool& answered) const;

 private:
  std::string secret_;
  std::shared_ptr<net::TlsContext> server_, client_;  // null: plain
};

}  // namespace kiln::collective
