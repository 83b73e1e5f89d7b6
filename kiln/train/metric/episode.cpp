#include "kiln/train/metric/episode.hpp"

namespace kiln::metric {

void OpenEpisodes::add(std::string_view name, const Value& numbers, const Value& ended, Total& sum, Total& count) {
  require<ShapeError>(numbers.shape() == ended.shape(), name, ": rewards ", numbers.shape(), " and ends ",
                      ended.shape(), " differ");
  const auto width = static_cast<std::size_t>(numbers.dim(numbers.rank() - 1));
  if (sums.empty()) sums.resize(width);
  require<ShapeError>(sums.size() == width, name, ": ", width, " environments after ", sums.size());
  const auto values = numbers.data().to_vector<double>(), ends = ended.data().to_vector<double>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    double& open = sums[i % width];
    open += values[i];
    if (ends[i] == 0) continue;
    sum += std::exchange(open, 0);
    count += 1;
  }
}

}  // namespace kiln::metric
