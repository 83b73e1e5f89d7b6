// Watches which ranks of this machine are alive: the kernel reports the end of a process, whatever the cause.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

namespace kiln {

/// A process, and the system in which its id is valid. It is sent as bytes.
struct RankProcess {
  pid_t id = 0;
  char place[92] = {};  // the boot id and the PID namespace (of a container, say)

  static RankProcess own();
};

class RankWatch {
 public:
  /// Watches the processes of the ranks that are on this machine. Calls `report(rank)` on a thread of its own when the
  /// first of them has ended, which may be the cause of later ends. (Needs Linux 5.3 or later; otherwise no process is
  /// watched.)
  RankWatch(int own, const std::vector<RankProcess>& processes, std::function<void(int rank)> report);
  ~RankWatch() { stop(); }
  RankWatch(const RankWatch&) = delete;
  RankWatch& operator=(const RankWatch&) = delete;

  bool watches(int rank) const { return watched_[static_cast<std::size_t>(rank)]; }
  bool has_ended(int rank) const { return ended_[static_cast<std::size_t>(rank)]; }
  /// The first rank that has ended; -1 where all are alive.
  int first_ended() const { return first_; }
  /// Ends the watching; `report` is not called any more.
  void stop();

 private:
  void run(std::vector<std::pair<int, int>> watched);  // ranks, and pidfds of their processes

  std::vector<bool> watched_;
  std::vector<std::atomic<bool>> ended_;
  std::atomic<int> first_ = -1;
  std::function<void(int rank)> report_;
  int wake_ = -1;
  std::thread thread_;
};

}  // namespace kiln
