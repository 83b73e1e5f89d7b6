// How a program that trains is watched: what --plain and --web of all examples mean.
#pragma once
#include <cstdint>
#include <optional>

#include "kiln/train/loop.hpp"

namespace kiln {

struct Watch {
  bool plain = false;                  // lines in place of the dashboard
  std::optional<std::uint16_t> web{};  // a port: the dashboard as a page for a browser; 0: any port that is free
};

/// Adds to a Learner what shows its training: the dashboard on the terminal, or lines, or lines and a page.
void watch(training::Loop& learner, const Watch& how);

}  // namespace kiln
