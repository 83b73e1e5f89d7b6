// How a program that trains an agent shows its progress: the options --plain and --web of examples.
#pragma once
#include "kiln/rl/learner.hpp"
#include "kiln/train/show/watch.hpp"

namespace kiln::rl {

/// Adds callbacks to an RlLearner: the dashboard on the terminal, or lines, or lines and a web page.
void watch(RlLoop& learner, const Watch& how);

}  // namespace kiln::rl
