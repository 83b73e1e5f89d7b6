// How a program that trains an agent is watched: what --plain and --web of examples mean.
#pragma once
#include "kiln/rl/learner.hpp"
#include "kiln/train/show/watch.hpp"

namespace kiln::rl {

/// Adds to an RlLearner what shows its training: the dashboard on the terminal, or lines, or lines and a page.
void watch(RlLoop& learner, const Watch& how);

}  // namespace kiln::rl
