#include "kiln/collective/introduction.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "kiln/core/error/error.hpp"

namespace kiln::collective {
namespace {

constexpr std::size_t kLeastSecret = 16;
constexpr std::string_view kPlain = "kilnrank", kSecret = "kilnauth";

template <class T>
void append_bytes(std::vector<std::byte>& to, const T& what) {
  const auto bytes = std::as_bytes(std::span(what));
  to.insert(to.end(), bytes.begin(), bytes.end());
}

}  // namespace

Introduction::Introduction(const Launch& launch) : secret_(launch.secret) {
  if (secret_.empty()) return;
  require<ArgumentError>(secret_.size() >= kLeastSecret, "ranks: a secret of ", secret_.size(),
                         " characters can be guessed: make one of at least ", kLeastSecret,
                         ", the same for all ranks (openssl rand -hex 32)");
  if (launch.encrypted) {
    server_ = net::TlsContext::server_of_now();
    client_ = net::TlsContext::client_of_all();
  } else {
    (void)net::hmac_sha256({}, {});  // an error now if there is no OpenSSL
  }
}

Hello Introduction::hello(int rank, int size, std::uint16_t port) const {
  Hello hello{.rank = rank, .size = size, .port = port};
  std::ranges::copy(has_secret() ? kSecret : kPlain, hello.magic.begin());
  return hello;
}

std::unique_ptr<net::Stream> Introduction::accepted(net::Socket socket) const {
  net::prepare_socket(socket.get());
  const std::string peer = net::peer_address(socket.get()).text();
  return server_ ? server_->over(std::move(socket), peer) : net::tcp_stream(std::move(socket), peer);
}
std::unique_ptr<net::Stream> Introduction::connected(net::Socket socket, int rank) const {
  net::prepare_socket(socket.get());
  const std::string peer = text("rank ", rank, " at ", net::peer_address(socket.get()).text());
  return client_ ? client_->over(std::move(socket), peer) : net::tcp_stream(std::move(socket), peer);
}

net::Digest Introduction::proof(Side side, const Hello& hello, const Nonce& theirs, const Nonce& ours,
                                const net::Stream& stream) const {
  std::vector<std::byte> all;
  append_bytes(all, std::string_view(side == Side::Connects ? "kiln rank connects" : "kiln rank listens"));
  append_bytes(all, std::span(&hello, 1));
  append_bytes(all, theirs);
  append_bytes(all, ours);
  append_bytes(all, stream.binding());
  return net::hmac_sha256(std::as_bytes(std::span(secret_)), all);
}

void Introduction::introduce(net::Stream& stream, const Hello& hello, const net::Deadline& deadline,
                             bool& answered) const try {
  answered = false;
  net::shake_hands(stream, deadline);
  std::vector<std::byte> first;
  append_bytes(first, std::span(&hello, 1));
  if (!has_secret()) return net::write_all(stream, first, deadline.seconds_left());
  Nonce ours, theirs;
  net::fill_random(ours);
  append_bytes(first, ours);
  net::write_all(stream, first, deadline.seconds_left());
  net::Digest proof;
  bool heard = net::read_all(stream, theirs, deadline);
  if (heard) {
    answered = true;
    const net::Digest own = this->proof(Side::Connects, hello, ours, theirs, stream);
    net::write_all(stream, own, deadline.seconds_left());
    heard = net::read_all(stream, proof, deadline);
  }
  require<IoError>(heard, "it ends the connection");
  require<IoError>(net::constant_time_equal(proof, this->proof(Side::Listens, hello, ours, theirs, stream)),
                   "it does not know the secret");
} catch (const IoError& error) {
  if (!has_secret()) throw;
  fail<IoError>("ranks: ", stream.peer(), " and this rank do not agree on their secret (", error.message(),
                "): all ranks of a launch need the same KILN_RANK_SECRET and KILN_RANK_TLS");
}

}  // namespace kiln::collective
