// Moves a value from one device to another: by a way between the two where there is one, else through the host.
#pragma once
#include "kiln/ops/backend.hpp"

namespace kiln {

/// A move that is under way: the result of start_move().
class PendingMove : public RefCounted {
 public:
  /// Whether neither take() nor the device would have to wait for the value.
  virtual bool ready() const = 0;
  /// Returns the value. Operations with it may be given to its device from now on. Must be called only once; throws the
  /// devices' errors.
  virtual Value take() = 0;
};

/// Starts to move a value, and does not wait for its device. The value may share the memory of the result, which is
/// never changed. Throws the errors of the value that are known.
Ref<PendingMove> start_move(const Value& value, const Device& to);
/// The result of start_move() for a value that is there.
Ref<PendingMove> moved(Value there);

/// Starts a move between two devices that the function knows; null: it does not know them, or cannot move this value.
using StartMove = Ref<PendingMove> (*)(const Value& value, const Device& to);
/// Adds a way for values. It is called while the program starts, before there are other threads.
void register_mover(StartMove start);

}  // namespace kiln
