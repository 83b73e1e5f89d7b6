// The order of a replay: fetches the operands of each step, gives the step to a function, and frees values after their
// last use.
#pragma once
#include "kiln/backend/capture/body.hpp"

namespace kiln {

/// Runs a step on its operands and returns its results. `device` is that of a step without tensors among its operands.
using RunStep = FunctionRef<Values(const GraphStep& step, Values in, const Device& device)>;

/// Returns the graph's outputs for these inputs, which are not checked.
Values replay_by(const GraphBody& body, Inputs inputs, RunStep run);

/// Runs a step as it was recorded.
Values run_step(const GraphStep& step, Inputs in, const Device& device);

}  // namespace kiln
