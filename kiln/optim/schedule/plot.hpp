// A schedule as a picture of letters, for terminals and logs.
#pragma once
#include <string>

#include "kiln/optim/schedule/combined.hpp"

namespace kiln {

struct PlotOptions {
  int width = 72, height = 12;  // of the picture without its axes, in letters
};

/// The rates of the first `steps` steps, from 0 at the bottom up to the largest; a column shows all that its steps
/// have. Throws ArgumentError for less than one step or letter, or a rate that is negative or no number.
///
///   std::puts(plot(CosineConfig{.peak = 1e-3, .warmup = 100, .steps = 1000}, 1000).c_str());
std::string plot(const AnySchedule& schedule, std::int64_t steps, const PlotOptions& options = {});

}  // namespace kiln
