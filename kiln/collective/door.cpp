#include "kiln/collective/door.hpp"

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

Door::Said Door::listen_to(Stranger& stranger) {
  auto* const bytes = reinterpret_cast<std::byte*>(&stranger.hello);
  const Hello expected;
  while (stranger.heard < sizeof(Hello)) {
    const ssize_t got =
        ::recv(stranger.socket.get(), bytes + stranger.heard, sizeof(Hello) - stranger.heard, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return Said::More;
    if (got <= 0) return Said::Nonsense;
    stranger.heard += static_cast<std::size_t>(got);
    if (std::memcmp(bytes, &expected, std::min(stranger.heard, sizeof expected.magic)) != 0) return Said::Nonsense;
  }
  return Said::Hello;
}

void Door::let_in() {
  Socket socket(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  const bool full = socket.get() < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM);
  if (strangers_.size() >= kStrangers || (full && !strangers_.empty())) strangers_.erase(strangers_.begin());
  else if (full) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  if (socket.get() >= 0) strangers_.push_back({std::move(socket)});
}

Guest Door::next(const std::vector<int>& missing, const Deadline& deadline) {
  for (;;) {
    for (auto stranger = strangers_.begin(); stranger != strangers_.end();) {
      const Said said = listen_to(*stranger);
      if (said == Said::More && !stranger->patience.is_over()) {
        ++stranger;
        continue;
      }
      Guest guest{std::move(stranger->socket), stranger->hello};
      stranger = strangers_.erase(stranger);
      if (said != Said::Hello) continue;
      if (guest.hello.size == launch_.size && std::ranges::find(missing, guest.hello.rank) != missing.end())
        return guest;
      odd_ = text("; rank ", guest.hello.rank, " of ", guest.hello.size, " came where rank ", missing.front(), " of ",
                  launch_.size, " was expected: another launch has the same port, or two processes the same rank");
    }
    require<IoError>(!deadline.is_over(), "ranks: rank ", missing.front(), " has not connected to port ",
                     ntohs(place().port), " in time", odd_);
    std::vector<pollfd> waits = {{listening_.get(), POLLIN, 0}};
    int milliseconds = deadline.milliseconds();
    for (const Stranger& stranger : strangers_) {
      waits.push_back({stranger.socket.get(), POLLIN, 0});
      milliseconds = std::min(milliseconds, stranger.patience.milliseconds());
    }
    if (::poll(waits.data(), waits.size(), milliseconds) > 0 && waits[0].revents != 0) let_in();
  }
}

}  // namespace kiln::collective
