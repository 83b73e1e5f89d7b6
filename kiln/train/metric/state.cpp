#include "kiln/train/metric/state.hpp"

#include <algorithm>
#include <numeric>

#include "kiln/core/error/error.hpp"

namespace kiln::metric {

void Totals::add(std::int64_t place, double more) {
  const auto index = static_cast<std::size_t>(place);
  if (sums.size() <= index) sums.resize(index + 1);
  sums[index] += more;
}

double Totals::at(std::int64_t place) const { return place < size() ? sums[static_cast<std::size_t>(place)] : 0; }

double Totals::total() const { return std::accumulate(sums.begin(), sums.end(), 0.0); }

void Totals::merge(const Totals& other) {
  sums.resize(std::max(sums.size(), other.sums.size()));
  for (std::size_t i = 0; i < other.sums.size(); ++i) sums[i] += other.sums[i];
}

void Moments::add(const double* row, std::int64_t columns) {
  const auto width = static_cast<std::size_t>(columns);
  merge({1, {row, row + width}, std::vector<double>(width)});
}

void Moments::merge(const Moments& other) {
  if (other.count == 0) return;
  if (count == 0) {
    *this = other;
    return;
  }
  require<ShapeError>(means.size() == other.means.size(), "metric: ", other.means.size(), " columns after ",
                      means.size());
  const double all = count + other.count;
  for (std::size_t i = 0; i < means.size(); ++i) {
    const double apart = other.means[i] - means[i];
    means[i] += apart * other.count / all;
    squares[i] += other.squares[i] + apart * apart * count * other.count / all;
  }
  count = all;
}

}  // namespace kiln::metric
