// A short training as loggers hear of it.
#pragma once
#include <cstdint>
#include <limits>

#include "kiln/train/events.hpp"

namespace kiln {

/// Steps (from, to], an evaluation after each second one.
template <class Logger>
void run(Logger logger, std::int64_t from, std::int64_t to) {
  using namespace training;
  const auto tell = [&](const auto& event) {
    if constexpr (requires { logger.on(event); }) logger.on(event);
  };
  tell(Begin{.at = {.step = from}, .batches = 4, .epochs = 2, .parameters = 7});
  for (std::int64_t step = from + 1; step <= to; ++step) {
    const training::Position at{
        .epoch = (step - 1) / 4, .batch = step - (step - 1) / 4 * 4, .step = step, .items = 8 * step};
    tell(Step{at, 1.0 / static_cast<double>(step), {0.5}, 8, 0.25});
    if (step % 2 == 0)
      tell(
          Evaluation{at,
                     "valid",
                     {{"loss", 0.5}, {"a/b \"c\"", std::numeric_limits<double>::quiet_NaN(), "nothing was measured"}}});
  }
  tell(Saved{{.step = to}, "run/step.kiln"});
  tell(RunEnd{{.epoch = 1, .step = to}, "all \"done\""});
}

}  // namespace kiln
