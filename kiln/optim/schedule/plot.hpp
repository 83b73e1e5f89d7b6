// Plots a schedule as text, for terminals and logs.
#pragma once
#include <string>

#include "kiln/optim/schedule/combined.hpp"

namespace kiln {

struct PlotOptions {
  int width = 72, height = 12;  // size of the plot without its axes, in characters
};

/// The rates of the first `steps` steps, from 0 at the bottom to the largest; a column shows the range of its steps.
/// Throws ArgumentError for less than one step or character, or a rate that is negative or NaN.
///
///   std::puts(plot(CosineConfig{.peak = 1e-3, .warmup = 100, .steps = 1000}, 1000).c_str());
std::string plot(const AnySchedule& schedule, std::int64_t steps, const PlotOptions& options = {});

}  // namespace kiln
