// How training is displayed: the meaning of --plain and --web in all examples.
#pragma once
#include <cstdint>
#include <optional>

#include "kiln/train/loop.hpp"

namespace kiln {

struct Watch {
  bool plain = false;                  // lines instead of the dashboard
  std::optional<std::uint16_t> web{};  // a port: the dashboard as a page for a browser; 0: a free port
  bool stays = false;                  // the dashboard, after training, until q is pressed
};

/// Adds a display to a Learner: the dashboard on the terminal, or lines, or lines and a page.
void watch(training::Loop& learner, const Watch& how);

}  // namespace kiln
