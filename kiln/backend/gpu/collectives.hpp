// Collectives: reductions and gathers among ranks by a library of their devices, alongside a device's other work.
#pragma once
#include <cstdint>

#include "kiln/backend/gpu/meeting.hpp"

namespace kiln {
class Communicator;
}

namespace kiln::gpu {

class Collectives {
 public:
  virtual ~Collectives() = default;
  /// Can these ranks run collectives by a library of the device? All ranks ask and get the same answer; then all call
  /// meet() in the same order, after they have told each other what they are going to do.
  virtual bool meets(Communicator& among) = 0;
  /// Starts a collective once all work submitted before is done and the previous collective has ended. Work submitted
  /// later does not wait for it, and must leave its memory alone until await(). Returns the increasing number by which
  /// await() identifies it; 0 means that it runs in order with all other work.
  virtual std::uint64_t meet(Communicator& among, const Meeting& meeting) = 0;
  /// Work submitted from here on runs after that collective and those before it.
  virtual void await(std::uint64_t meeting) = 0;
};

}  // namespace kiln::gpu
