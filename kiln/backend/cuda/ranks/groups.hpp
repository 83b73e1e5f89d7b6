// Groups: ranks connected by NCCL, each with a GPU of its own. They find each other by their communicator, which also
// checks that they call the same collective; NCCL then runs it on the device alongside other work, in a stream for
// collectives alone.
#pragma once
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "kiln/backend/cuda/driver_api.hpp"
#include "kiln/backend/cuda/ranks/nccl.hpp"
#include "kiln/backend/gpu/collective.hpp"
#include "kiln/ops/collective/communicator.hpp"

namespace kiln::cuda {

/// The groups of one device. If a rank ends while the device waits for it, the device is lost: whatever waits for the
/// device gets DeviceError after some seconds. (While ranks connect, in join() and NCCL's first call, this is not
/// noticed.) Thread-safe, if each thread uses its own communicators.
class NcclGroups {
 public:
  explicit NcclGroups(Ref<Stream> stream);
  ~NcclGroups();

  /// Is there a group for these ranks? All ranks ask, and wait for each other the first time. There is none if one of
  /// them has no NCCL, another version, shares its GPU, or has KILN_NCCL set to 0. A single rank has one if KILN_NCCL
  /// is 1. Throws like Communicator::exchange(), and DeviceError if NCCL does not start.
  bool joins(Communicator& among);
  /// Starts a collective of a group that exists. It runs after the work that was submitted to the stream and after
  /// earlier collectives; the stream itself goes on. Returns the increasing number by which wait_for_collective()
  /// identifies it.
  std::uint64_t start_collective(Communicator& among, const gpu::Collective& collective);
  /// Work submitted to the stream from here on runs after that collective and those before it.
  void wait_for_collective(std::uint64_t collective);

 private:
  using Clock = std::chrono::steady_clock;
  struct KnownGroup {
    std::weak_ptr<Communicator> among;
    nccl::Group group = nullptr;
    bool lost = false;  // was it aborted?
  };
  /// A collective that the device may not have ended.
  struct RunningCollective {
    std::uint64_t number = 0;
    std::int64_t among = 0;
    std::unique_ptr<Event> reached{}, done{};  // the device has reached it, and has finished it
    std::optional<Clock::time_point> stuck_since{};
  };
  nccl::Group join(Communicator& among);
  void check(nccl::Status status, nccl::Group group, const char* doing) const;
  std::unique_ptr<Event> take_event();
  // These are called while mutex_ is held:
  void forget_ended_collectives();
  void forget_ended_groups();
  bool is_running(std::int64_t among) const;
  void look();

  const Ref<Stream> stream_;
  std::mutex mutex_;
  std::optional<SideStream> side_;            // created with the first group
  std::map<std::int64_t, KnownGroup> known_;  // by the communicator's number
  std::deque<RunningCollective> running_;     // in the order of side_
  std::vector<std::unique_ptr<Event>> spare_events_;
  std::uint64_t collectives_ = 0;
};

}  // namespace kiln::cuda
