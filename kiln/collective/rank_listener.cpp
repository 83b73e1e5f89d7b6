#include "kiln/collective/rank_listener.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "kiln/core/error/error.hpp"

namespace kiln::collective {

std::uint16_t RankListener::port() const { return static_cast<std::uint16_t>(net::own_address(listening_.get()).port); }

void RankListener::begin(PendingConnection& connection, Step step, std::size_t expected, std::vector<std::byte> out) {
  connection.step = step;
  connection.in.assign(expected, {});
  connection.received = connection.sent = 0;
  connection.out = std::move(out);
}

/// Sends and receives what belongs to the step, as far as that is possible now. Identified: all of it.
RankListener::Reply RankListener::move_bytes(PendingConnection& connection) const {
  const auto moved_by = [&](const net::Moved& moved, std::size_t& count) {
    count += moved.bytes;
    connection.waits = moved.waits;
    if (moved.ended || !moved.failure.empty()) return Reply::NotARank;
    return moved.waits ? Reply::More : Reply::Identified;
  };
  std::size_t none = 0;
  if (connection.step == Step::Handshake) return moved_by(connection.stream->handshake(), none);
  while (connection.sent < connection.out.size())
    if (const Reply reply =
            moved_by(connection.stream->write(std::span(connection.out).subspan(connection.sent)), connection.sent);
        reply != Reply::Identified)
      return reply;
  const Hello expected = introduction_.hello(0, 0, 0);
  while (connection.received < connection.in.size()) {
    const Reply reply =
        moved_by(connection.stream->read(std::span(connection.in).subspan(connection.received)), connection.received);
    if (reply != Reply::Identified) return reply;
    const std::size_t known = std::min(connection.received, expected.magic.size());
    if (connection.step == Step::Hello && std::memcmp(connection.in.data(), expected.magic.data(), known) != 0)
      return Reply::NotARank;
  }
  return Reply::Identified;
}

RankListener::Reply RankListener::finish_step(PendingConnection& connection) {
  const bool secret = introduction_.has_secret();
  switch (connection.step) {
    case Step::Handshake:
      begin(connection, Step::Hello, sizeof(Hello) + (secret ? sizeof(Nonce) : 0));
      return Reply::More;
    case Step::Hello:
      std::memcpy(&connection.hello, connection.in.data(), sizeof(Hello));
      if (!secret) return Reply::Identified;
      std::memcpy(connection.theirs.data(), connection.in.data() + sizeof(Hello), sizeof(Nonce));
      net::fill_random(connection.ours);
      begin(connection, Step::Proof, sizeof(net::Digest), {connection.ours.begin(), connection.ours.end()});
      return Reply::More;
    case Step::Proof: {
      const auto proof = [&](Introduction::Side side) {
        return introduction_.proof(side, connection.hello, connection.theirs, connection.ours, *connection.stream);
      };
      if (!net::constant_time_equal(connection.in, proof(Introduction::Side::Connects))) {
        unexpected_ = text("; ", connection.stream->peer(), " came with another secret");
        return Reply::NotARank;
      }
      const net::Digest own = proof(Introduction::Side::Listens);
      begin(connection, Step::Answer, 0, {own.begin(), own.end()});
      return Reply::More;
    }
    case Step::Answer: return Reply::Identified;
  }
  return Reply::NotARank;
}

RankListener::Reply RankListener::advance(PendingConnection& connection) {
  for (;;) {
    Reply reply = move_bytes(connection);
    if (reply != Reply::Identified) return reply;
    if (reply = finish_step(connection); reply != Reply::More) return reply;
  }
}

void RankListener::accept_all() {
  net::Socket socket(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  const bool full = socket.get() < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM);
  const std::size_t most = kMaxPending + static_cast<std::size_t>(launch_.size);
  if (full ? !pending_.empty() : socket.get() >= 0 && pending_.size() >= most)
    pending_.erase(std::ranges::min_element(pending_, {}, &PendingConnection::step));  // the oldest of them
  else if (full) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  if (socket.get() >= 0)
    pending_.push_back({.stream = introduction_.accepted(std::move(socket)),
                        .deadline = net::Deadline(Introduction::kPatience),
                        .in = {}});
}

IdentifiedRank RankListener::next(const std::vector<int>& missing, const net::Deadline& deadline) {
  for (;;) {
    for (auto connection = pending_.begin(); connection != pending_.end();) {
      const Reply reply = advance(*connection);
      if (reply == Reply::More && !connection->deadline.is_over()) {
        ++connection;
        continue;
      }
      IdentifiedRank identified{std::move(connection->stream), connection->hello};
      connection = pending_.erase(connection);
      if (reply != Reply::Identified) continue;
      if (identified.hello.size == launch_.size && std::ranges::find(missing, identified.hello.rank) != missing.end())
        return identified;
      unexpected_ =
          text("; rank ", identified.hello.rank, " of ", identified.hello.size, " came where rank ", missing.front(),
               " of ", launch_.size, " was expected: another launch has the same port, or two processes the same rank");
    }
    require<IoError>(!deadline.is_over(), "ranks: rank ", missing.front(), " has not connected to port ", port(),
                     " in time", unexpected_);
    std::vector<pollfd> waits = {{listening_.get(), POLLIN, 0}};
    int milliseconds = deadline.milliseconds();
    for (const PendingConnection& connection : pending_) {
      waits.push_back({connection.stream->socket(), connection.waits, 0});
      milliseconds = std::min(milliseconds, connection.deadline.milliseconds());
    }
    if (::poll(waits.data(), waits.size(), milliseconds) > 0 && waits[0].revents != 0) accept_all();
  }
}

}  // namespace kiln::collective
