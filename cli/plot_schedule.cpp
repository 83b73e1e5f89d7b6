#include "cli/commands.hpp"
#include "kiln/core/config/config.hpp"
#include "kiln/core/error/suggest.hpp"
#include "kiln/optim/schedule/plot.hpp"

namespace kiln::cli {

std::string plot_schedule(const PlotScheduleOptions& options) {
  const auto schedule = from_json<AnySchedule>(parse_json(read_text_file(options.file), options.file), options.file);
  schedule.check();
  return plot(schedule, options.steps, {.width = options.width, .height = options.height});
}

}  // namespace kiln::cli
