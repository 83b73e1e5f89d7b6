// An address of this machine that no other test process has, so that tests that run at once may use the same ports.
#pragma once
#include <unistd.h>

#include <string>

#include "kiln/core/text.hpp"

namespace kiln {

inline std::string own_loopback() {
  const int id = ::getpid();
  return text("127.", 1 + (id >> 16) % 250, '.', (id >> 8) % 256, '.', id % 256);
}

}  // namespace kiln
