// Collectives: reductions and gathers among ranks by a library of their devices, alongside a device's other work.
#pragma once
#include <cstdint>

#include "kiln/backend/gpu/collective.hpp"

namespace kiln {
class Communicator;
}

namespace kiln::gpu {

/// They are ordered with the work of the device's first stream.
class Collectives {
 public:
  virtual ~Collectives() = default;
  /// Can these ranks run collectives by a library of the device? All ranks ask and get the same answer; then all call
  /// start_collective() in the same order, after they have told each other what they are going to do.
  virtual bool can_start_collectives(Communicator& among) = 0;
  /// Starts a collective once all work submitted before is done and the previous collective has ended. Work submitted
  /// later does not wait for it, and must leave its memory alone until wait_for_collective(). Returns the increasing
  /// number by which wait_for_collective() identifies it; 0 means that it runs in order with all other work.
  virtual std::uint64_t start_collective(Communicator& among, const Collective& collective) = 0;
  /// Work submitted from here on runs after that collective and those before it.
  virtual void wait_for_collective(std::uint64_t collective) = 0;
};

}  // namespace kiln::gpu
