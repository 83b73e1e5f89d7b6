// Which ranks of this machine still live: the kernel tells when a process has ended, whatever it ended by.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

namespace kiln {

/// A process, and where its number means it. Travels as bytes.
struct RankProcess {
  pid_t id = 0;
  char place[92] = {};  // the machine's start and the space of process numbers (of a container, say)

  static RankProcess own();
};

class RankWatch {
 public:
  /// A process for each rank; those of other places are not watched. Calls `tell(rank)` in a thread of its own when the first has
  /// ended: of what ends it may be the reason. (Linux 5.3 or later; before, nobody is watched.)
  RankWatch(int own, const std::vector<RankProcess>& processes, std::function<void(int rank)> tell);
  ~RankWatch() { stop(); }
  RankWatch(const RankWatch&) = delete;
  RankWatch& operator=(const RankWatch&) = delete;

  bool watches(int rank) const { return watched_[static_cast<std::size_t>(rank)]; }
  bool has_ended(int rank) const { return ended_[static_cast<std::size_t>(rank)]; }
  /// -1 where all live.
  int first_ended() const { return first_; }
  /// Nobody is told of any more.
  void stop();

 private:
  void run(std::vector<std::pair<int, int>> watched);  // ranks, and the kernel's descriptors of their processes

  std::vector<bool> watched_;
  std::vector<std::atomic<bool>> ended_;
  std::atomic<int> first_ = -1;
  std::function<void(int rank)> tell_;
  int wake_ = -1;
  std::thread thread_;
};

}  // namespace kiln
