// Operations that fail on purpose, whose results the test does not read.
#pragma once
#include "kiln/core/error/error.hpp"
#include "kiln/ops/device.hpp"

namespace kiln::test {

/// Hears what sync() has to tell of them, so that it is not told to the test that syncs next.
inline void hear_of_unread_failures() {
  try {
    Device::cpu().sync();
  } catch (const Error&) {}
}

}  // namespace kiln::test
