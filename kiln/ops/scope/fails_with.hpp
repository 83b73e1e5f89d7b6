// A scope whose operations fail if certain values do.
#pragma once
#include <cstdint>

#include "kiln/ops/value.hpp"

namespace kiln {

/// While this object lives, results of this thread depend on `causes` too: where one of these fails, so do the results.
/// It is used for gradients, which often do not read the values that they are gradients of. Scopes nest; the values
/// must live as long.
class FailsWith {
 public:
  explicit FailsWith(Inputs causes);
  /// Replaces the outer scopes, for code that runs operations of another thread, or knows the causes by other values.
  struct ReplaceOuter {};
  FailsWith(Inputs causes, ReplaceOuter);
  /// Stands for another scope, whose causes these are, in values of another device.
  FailsWith(Inputs causes, const FailsWith& scope);
  ~FailsWith();
  FailsWith(const FailsWith&) = delete;
  FailsWith& operator=(const FailsWith&) = delete;

  /// Returns this thread's innermost scope, or null.
  static const FailsWith* innermost();
  /// Whether any scope names a value. A thread that runs deferred work need not have all these values yet.
  static bool any();
  const FailsWith* outer() const { return outer_; }
  Inputs causes() const { return causes_; }
  /// A number that no other scope of the thread ever has.
  std::uint64_t id() const { return id_; }

 private:
  FailsWith(Inputs causes, const FailsWith* outer);

  Inputs causes_;
  std::uint64_t id_;
  const FailsWith *outer_, *before_;
};

}  // namespace kiln
