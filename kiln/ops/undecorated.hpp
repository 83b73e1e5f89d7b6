// A header of its own, as builds without run-time type information have no dynamic_cast.
#pragma once
#include "kiln/ops/decorator.hpp"

namespace kiln {

/// The backend of a device below all decorators.
inline Backend& undecorated(const Device& device) {
  Backend* core = &device.backend();
  while (const auto* decorator = dynamic_cast<const Decorator*>(core)) core = &decorator->inner();
  return *core;
}

}  // namespace kiln
