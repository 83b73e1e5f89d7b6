// A scope whose operations fail where certain values do.
#pragma once
#include <cstdint>

#include "kiln/ops/value.hpp"

namespace kiln {

/// While it lives, what this thread asks for counts as made from `causes` too: where one of them turns out to be wrong,
/// so is that. For gradients, which often do not read what they are the gradients of. Scopes nest; the values must live
/// as long.
class FailsWith {
 public:
  explicit FailsWith(Inputs causes);
  /// In place of the outer scopes, for who runs what somebody else asked for, or knows those values by others.
  struct Anew {};
  FailsWith(Inputs causes, Anew);
  ~FailsWith();
  FailsWith(const FailsWith&) = delete;
  FailsWith& operator=(const FailsWith&) = delete;

  /// Of this thread, or null.
  static const FailsWith* innermost();
  /// Is there any that names a value? Not all of them need to be made yet, for who runs what is asked for later.
  static bool any();
  const FailsWith* outer() const { return outer_; }
  Inputs causes() const { return causes_; }
  /// No other scope of the thread ever has it.
  std::uint64_t id() const { return id_; }

 private:
  FailsWith(Inputs causes, const FailsWith* outer);

  Inputs causes_;
  std::uint64_t id_;
  const FailsWith *outer_, *before_;
};

}  // namespace kiln
