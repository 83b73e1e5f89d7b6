#include "kiln/optim/schedule/plot.hpp"

#include <algorithm>
#include <cmath>

namespace kiln {

std::string plot(const AnySchedule& schedule, std::int64_t steps, const PlotOptions& options) {
  require<ArgumentError>(steps > 0 && options.width > 0 && options.height > 0, "plot: ", steps, " steps in ",
                         options.width, " x ", options.height, " characters");
  schedule.check();
  struct Column {
    double least, most;
  };
  const std::int64_t width = std::min<std::int64_t>(options.width, steps), height = options.height;
  std::vector<Column> columns;
  double top = 0;
  for (std::int64_t column = 0; column < width; ++column) {
    const auto first = static_cast<std::int64_t>(static_cast<double>(column) * static_cast<double>(steps) /
                                                 static_cast<double>(width));
    const auto end = static_cast<std::int64_t>(static_cast<double>(column + 1) * static_cast<double>(steps) /
                                               static_cast<double>(width));
    Column seen{schedule.at(first), schedule.at(first)};
    // A sample is enough to show long schedules.
    const std::int64_t stride = std::max<std::int64_t>((end - first) / 64, 1);
    for (std::int64_t step = first; step < std::max(end, first + 1); step += stride) {
      const double rate = schedule.at(step);
      require<ArgumentError>(std::isfinite(rate) && rate >= 0, "plot: the rate of step ", step, " is ", rate);
      seen = {std::min(seen.least, rate), std::max(seen.most, rate)};
    }
    columns.push_back(seen);
    top = std::max(top, seen.most);
  }

  const auto row_of = [&](double rate) {
    return top > 0 ? static_cast<std::int64_t>(std::lround(rate / top * static_cast<double>(height - 1))) : 0;
  };
  const std::string label = text(top);
  std::string picture;
  for (std::int64_t row = height - 1; row >= 0; --row) {
    const std::string beside = row == 0 ? "0" : row == height - 1 ? label : "";
    std::string line = text(std::string(label.size() - std::min(beside.size(), label.size()), ' '), beside, " |");
    for (const Column& column : columns) line += row_of(column.least) <= row && row <= row_of(column.most) ? '*' : ' ';
    line.erase(line.find_last_not_of(' ') + 1);
    picture += line + "\n";
  }
  const std::string last = text(steps - 1), margin(label.size() + 2, ' ');
  picture += text(std::string(label.size() + 1, ' '), '+', std::string(static_cast<std::size_t>(width), '-'), '\n');
  const auto gap = std::max<std::int64_t>(width - 1 - static_cast<std::int64_t>(last.size()), 1);
  picture += text(margin, '0', std::string(static_cast<std::size_t>(gap), ' '), last, " step\n");
  return picture;
}

}  // namespace kiln
