// Which of several ways to compute the same is the quickest: measured.
#pragma once
#include <optional>
#include <vector>

#include "kiln/core/function_ref.hpp"

namespace kiln::gpu {

struct Quickest {
  int which;
  std::vector<double> milliseconds;  // a run of each; infinite where it cannot
};

/// Compares `count` ways: run(i) submits one, and returns false if it cannot; milliseconds(work) is how long the device
/// takes for what work() submits. A way must be clearly quicker than one before it. None if none can run.
std::optional<Quickest> quickest(int count, FunctionRef<bool(int)> run,
                                 FunctionRef<double(FunctionRef<void()>)> milliseconds);

}  // namespace kiln::gpu
