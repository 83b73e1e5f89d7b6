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
  ~FailsWith();
  FailsWith(const FailsWith&) = delete;
  FailsWith& operator=(const FailsWith&) = delete;

  /// Of this thread, or null.
  static const FailsWith* innermost();
  const FailsWith* outer() const { return outer_; }
  Inputs causes() const { return causes_; }
  /// No other scope of the thread ever has it.
  std::uint64_t id() const { return id_; }

 private:
  Inputs causes_;
  std::uint64_t id_;
  const FailsWith* outer_;
};

}  // namespace kiln
