// Meetings: collectives of ranks that run alongside a GPU's ordered work, with the memory that they need meanwhile.
#pragma once
#include <deque>
#include <mutex>

#include "kiln/backend/gpu/memory.hpp"

namespace kiln::gpu {

/// The collectives of one device. Their memory is released once the device waits for them, since its next owner writes
/// to it after that: this happens in program order, so that all steps of a training run get the same addresses.
/// Thread-safe.
class RunningCollectives {
 public:
  /// Both must outlive this.
  RunningCollectives(Driver& driver, StreamOrder& order) : driver_(driver), order_(order) {}
  /// Starts a collective from x to `result`, and keeps the memory of both alive until the device waits for it. When too
  /// many are running, the device waits for the first.
  void begin(Communicator& among, const Collective& collective, const Value& x, const Value& result);
  /// Work submitted from here on, by this thread, runs after the collectives that fill these values.
  void wait_for_collective(Inputs values);
  /// The last collective that fills memory of these values and that the device does not wait for yet. 0 if there is
  /// none; then work that this thread submits from here on runs after all that fill them.
  std::uint64_t awaited_by(Inputs values);
  /// Work submitted from here on runs after all collectives; false where there was none.
  bool await_all();

 private:
  struct UnderWay {
    std::uint64_t number;
    Ref<Storage> x, result;
  };
  void wait_for_collective(std::uint64_t number);

  Driver& driver_;
  StreamOrder& order_;
  std::mutex mutex_;
  std::uint64_t waited_ = 0;        // the first stream's count (StreamOrder) after it has last waited for a collective
  std::deque<UnderWay> under_way_;  // collectives that the device does not wait for yet, in their order
};

}  // namespace kiln::gpu
