// Groups of ranks that NCCL joins, where each has a GPU of its own. They find each other by their communicator, which also
// tells what they do next; what NCCL then does, the device does beside its other work, in a stream for that alone.
#pragma once
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "kiln/backend/cuda/ranks/nccl.hpp"
#include "kiln/backend/cuda/stream.hpp"
#include "kiln/backend/gpu/meeting.hpp"
#include "kiln/ops/collective/communicator.hpp"

namespace kiln::cuda {

/// Those that one device is in. A rank that goes while the device waits for it takes the device along: whoever waits for
/// that gets DeviceError, after some seconds. (While ranks connect, in join() and NCCL's first call, it is not noticed.)
/// Any number of threads may ask, each about communicators of its own.
class Groups {
 public:
  explicit Groups(Ref<Stream> stream);
  ~Groups();

  /// Is there a group? All ranks ask, and wait for each other at the first time: there is none where one of them has no
  /// NCCL, or another version, or shares its GPU, or KILN_NCCL is 0. A rank by itself has one where KILN_NCCL is 1.
  /// Throws as Communicator::exchange(), DeviceError where NCCL does not start.
  bool joins(Communicator& among);
  /// Has the device begin it when it has done what its stream was asked for, and the meetings before it; the stream goes on.
  /// There is a group. What await() knows it by: it grows.
  std::uint64_t meet(Communicator& among, const gpu::Meeting& meeting);
  /// What the stream is asked for from here on comes after that meeting and those before it.
  void await(std::uint64_t meeting);

 private:
  using Clock = std::chrono::steady_clock;
  struct Known {
    std::weak_ptr<Communicator> among;
    nccl::Group group = nullptr;
    bool lost = false;  // it was joined, and is no more
  };
  /// A meeting that the device has not been seen to end.
  struct UnderWay {
    std::uint64_t number = 0;
    std::int64_t among = 0;
    std::unique_ptr<Event> reached{}, done{};  // the device has come to it, and is through
    std::optional<Clock::time_point> stuck_since{};
  };
  nccl::Group join(Communicator& among);
  void check(nccl::Status status, nccl::Group group, const char* doing) const;
  std::unique_ptr<Event> take_event();
  // While mutex_ is held:
  void forget_ended_meetings();
  void forget_ended_groups();
  bool is_under_way(std::int64_t among) const;
  void look();

  const Ref<Stream> stream_;
  std::mutex mutex_;
  std::optional<SideStream> side_;       // from the first group on
  std::map<std::int64_t, Known> known_;  // by the communicator's number
  std::deque<UnderWay> under_way_;       // in the order of side_
  std::vector<std::unique_ptr<Event>> spare_events_;
  std::uint64_t meetings_ = 0;
};

}  // namespace kiln::cuda
