// Groups of ranks that NCCL joins, where each has a GPU of its own. They find each other by their communicator, which also
// tells what they do next; what NCCL then does, the device does in the order of its stream.
#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

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
  /// Asks the stream for it. There is a group.
  void meet(Communicator& among, const gpu::Meeting& meeting);

 private:
  using Clock = std::chrono::steady_clock;
  struct Known {
    std::weak_ptr<Communicator> among;
    nccl::Group group = nullptr;
    // Of the latest meeting: the device has come to it, and is through.
    std::unique_ptr<Event> reached, done;
    std::optional<Clock::time_point> stuck_since;

    bool is_under_way() const { return done && !done->ready(); }
  };
  nccl::Group join(Communicator& among);
  void check(nccl::Status status, nccl::Group group, const char* doing) const;
  void forget_ended();
  void look();

  const Ref<Stream> stream_;
  std::mutex mutex_;
  std::map<std::int64_t, Known> known_;  // by the communicator's number
};

}  // namespace kiln::cuda
