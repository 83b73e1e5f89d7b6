#include "kiln/collective/rank_listener.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "kiln/core/error/error.hpp"

namespace kiln::collective {

Socket::~Socket() {
  if (socket_ >= 0) ::close(socket_);
}

RankListener::Reply RankListener::read_hello(PendingConnection& connection) {
  auto* const bytes = reinterpret_cast<std::byte*>(&connection.hello);
  const Hello expected;
  while (connection.received < sizeof(Hello)) {
    const ssize_t got =
        ::recv(connection.socket.get(), bytes + connection.received, sizeof(Hello) - connection.received, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return Reply::More;
    if (got <= 0) return Reply::NotARank;
    connection.received += static_cast<std::size_t>(got);
    if (std::memcmp(bytes, &expected, std::min(connection.received, sizeof expected.magic)) != 0)
      return Reply::NotARank;
  }
  return Reply::Hello;
}

void RankListener::accept_all() {
  Socket socket(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  const bool full = socket.get() < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM);
  if (pending_.size() >= kMaxPending || (full && !pending_.empty())) pending_.erase(pending_.begin());
  else if (full) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  if (socket.get() >= 0) pending_.push_back({std::move(socket)});
}

IdentifiedRank RankListener::next(const std::vector<int>& missing, const Deadline& deadline) {
  for (;;) {
    for (auto connection = pending_.begin(); connection != pending_.end();) {
      const Reply reply = read_hello(*connection);
      if (reply == Reply::More && !connection->deadline.is_over()) {
        ++connection;
        continue;
      }
      IdentifiedRank identified{std::move(connection->socket), connection->hello};
      connection = pending_.erase(connection);
      if (reply != Reply::Hello) continue;
      if (identified.hello.size == launch_.size && std::ranges::find(missing, identified.hello.rank) != missing.end())
        return identified;
      unexpected_ =
          text("; rank ", identified.hello.rank, " of ", identified.hello.size, " came where rank ", missing.front(),
               " of ", launch_.size, " was expected: another launch has the same port, or two processes the same rank");
    }
    require<IoError>(!deadline.is_over(), "ranks: rank ", missing.front(), " has not connected to port ",
                     ntohs(address().port), " in time", unexpected_);
    std::vector<pollfd> waits = {{listening_.get(), POLLIN, 0}};
    int milliseconds = deadline.milliseconds();
    for (const PendingConnection& connection : pending_) {
      waits.push_back({connection.socket.get(), POLLIN, 0});
      milliseconds = std::min(milliseconds, connection.deadline.milliseconds());
    }
    if (::poll(waits.data(), waits.size(), milliseconds) > 0 && waits[0].revents != 0) accept_all();
  }
}

}  // namespace kiln::collective
