// A scope that says on which part of a device operations belong.
#pragma once
#include "kiln/ops/device.hpp"

namespace kiln {

/// While this object lives, operations of this thread belong to what was computed there: those of a gradient to the
/// operation whose gradient they compute. Only a device made of parts reads it. Scopes nest.
class Beside {
 public:
  explicit Beside(Device::Place place);
  ~Beside();
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

  /// The place of the innermost scope; anywhere if there is none.
  static Device::Place innermost();

 private:
  Device::Place before_;
};

}  // namespace kiln
