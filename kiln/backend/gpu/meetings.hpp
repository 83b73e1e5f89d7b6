// Meetings of ranks that go on beside what a GPU does in order, with the memory that they need meanwhile.
#pragma once
#include <deque>
#include <mutex>

#include "kiln/backend/gpu/memory.hpp"

namespace kiln::gpu {

/// Those of one device. Their memory is given back once the device waits for them, as whoever gets it writes there after that:
/// in the order of the program, so that all steps of a training find the same addresses. Any number of threads may ask.
class Meetings {
 public:
  /// The driver lives longer.
  explicit Meetings(Driver& driver) : driver_(driver) {}
  /// Has ranks meet, from where x is there to where await() is asked for the result: the memory of both is held until then.
  /// Too many at once wait for the first.
  void begin(Communicator& among, const Meeting& meeting, const Value& x, const Value& result);
  /// What the device is asked for from here on comes after the meetings that fill these.
  void await(Inputs values);
  /// The last meeting that fills memory of these and has not been waited for; 0 where there is none.
  std::uint64_t awaited_by(Inputs values) const;
  /// After all of them; false where there was none.
  bool await_all();

 private:
  struct UnderWay {
    std::uint64_t number;
    Ref<Storage> x, result;
  };
  void await(std::uint64_t number);

  Driver& driver_;
  mutable std::mutex mutex_;
  std::deque<UnderWay> under_way_;  // that nothing waits for yet, in their order
};

}  // namespace kiln::gpu
