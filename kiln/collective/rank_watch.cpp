#include "kiln/collective/rank_watch.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>

namespace kiln {
namespace {

int descriptor_of(pid_t process) { return static_cast<int>(::syscall(SYS_pidfd_open, process, 0)); }

}  // namespace

RankProcess RankProcess::own() {
  RankProcess own;
  own.id = ::getpid();
  std::string start;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), start);
  char space[48] = {};
  const bool known = ::readlink("/proc/self/ns/pid", space, sizeof space - 1) > 0 && !start.empty();
  const std::string place = start + space;
  if (known) std::memcpy(own.place, place.data(), std::min(place.size(), sizeof own.place - 1));
  return own;
}

RankWatch::RankWatch(int own, const std::vector<RankProcess>& processes, std::function<void(int rank)> report)
    : watched_(processes.size()), ended_(processes.size()), report_(std::move(report)) {
  const char* const here = processes[static_cast<std::size_t>(own)].place;
  std::vector<std::pair<int, int>> watched;
  for (int rank = 0; rank < static_cast<int>(processes.size()); ++rank) {
    const RankProcess& process = processes[static_cast<std::size_t>(rank)];
    if (rank == own || !*here || std::memcmp(process.place, here, sizeof process.place) != 0) continue;
    const int descriptor = descriptor_of(process.id);
    if (descriptor < 0) continue;
    watched_[static_cast<std::size_t>(rank)] = true;
    watched.emplace_back(rank, descriptor);
  }
  if (watched.empty()) return;
  wake_ = ::eventfd(0, EFD_CLOEXEC);
  thread_ = std::thread([this, watched] {
    sigset_t all;  // signals are for the program's own threads
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    run(watched);
  });
}

void RankWatch::run(std::vector<std::pair<int, int>> watched) {
  while (!watched.empty()) {
    std::vector<pollfd> waits = {{wake_, POLLIN, 0}};
    for (const auto& [rank, descriptor] : watched) waits.push_back({descriptor, POLLIN, 0});
    if (::poll(waits.data(), waits.size(), -1) < 0) continue;
    if (waits[0].revents) break;
    int first = -1;
    for (std::size_t i = watched.size(); i-- > 0;) {
      if (!waits[i + 1].revents) continue;
      const auto [rank, descriptor] = watched[i];
      ::close(descriptor);
      watched.erase(watched.begin() + static_cast<std::ptrdiff_t>(i));
      if (first_ < 0) first_ = first = rank;
      ended_[static_cast<std::size_t>(rank)] = true;
    }
    if (first >= 0) report_(first);
  }
  for (const auto& [rank, descriptor] : watched) ::close(descriptor);
}

void RankWatch::stop() {
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  (void)!::write(wake_, &one, sizeof one);
  thread_.join();
  ::close(std::exchange(wake_, -1));
}

}  // namespace kiln
