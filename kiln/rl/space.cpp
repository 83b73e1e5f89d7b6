#include "kiln/rl/space.hpp"

#include <cmath>
#include <utility>

#include "kiln/core/error/error.hpp"

namespace kiln::rl {

Space Space::discrete(std::int64_t count) {
  kiln::require<ArgumentError>(1 <= count && count <= 1 << 24, "Space::discrete: count = ", count,
                               " must be 1 to 2^24");
  Space space;
  space.count_ = count;
  return space;
}

Space Space::box(const Shape& shape, std::vector<float> low, std::vector<float> high) {
  Space space;
  space.shape_ = shape;
  const auto size = static_cast<std::size_t>(numel(shape));
  kiln::require<ShapeError>(size > 0 && low.size() == size && high.size() == size, "Space::box: ", shape, " takes ",
                            size, " bounds of each kind, and at least one; got ", low.size(), " lower and ",
                            high.size(), " upper ones");
  for (std::size_t i = 0; i < size; ++i)
    kiln::require<ArgumentError>(low[i] <= high[i], "Space::box: number ", i, " lies between ", low[i], " and ",
                                 high[i], ", which are not in order");
  space.low_ = std::move(low);
  space.high_ = std::move(high);
  return space;
}

Space Space::box(const Shape& shape, float low, float high) {
  const auto size = static_cast<std::size_t>(numel(shape));
  return box(shape, std::vector<float>(size, low), std::vector<float>(size, high));
}

bool Space::contains(std::span<const float> point) const {
  if (point.size() != static_cast<std::size_t>(size())) return false;
  if (is_discrete()) return point[0] >= 0 && point[0] < static_cast<float>(count_) && std::trunc(point[0]) == point[0];
  for (std::size_t i = 0; i < point.size(); ++i)
    if (!(low_[i] <= point[i] && point[i] <= high_[i])) return false;  // NaN is nowhere
  return true;
}

void Space::require(std::string_view who, std::span<const float> point) const {
  if (contains(point)) return;
  if (point.size() != static_cast<std::size_t>(size()))
    fail<ArgumentError>(who, " has ", size(), " numbers, got ", point.size());
  if (is_discrete()) fail<ArgumentError>(who, " ", point[0], " is not one of 0 to ", count_ - 1);
  for (std::size_t i = 0; i < point.size(); ++i)
    if (!(low_[i] <= point[i] && point[i] <= high_[i]))
      fail<ArgumentError>(who, ": number ", i, " is ", point[i], ", and must lie between ", low_[i], " and ", high_[i]);
}

void Space::sample(Random& random, std::span<float> point) const {
  KILN_CHECK(point.size() == static_cast<std::size_t>(size()));
  if (is_discrete()) {
    point[0] = static_cast<float>(random.below(count_));
    return;
  }
  for (std::size_t i = 0; i < point.size(); ++i) {
    double low = low_[i], high = high_[i];
    if (std::isinf(low) && std::isinf(high)) low = -1, high = 1;
    else if (std::isinf(low)) low = high - 2;
    else if (std::isinf(high)) high = low + 2;
    point[i] = static_cast<float>(random.uniform(low, high));
  }
}

void append(std::string& out, const Space& space) {
  if (space.is_discrete()) out += text("one of 0 to ", space.count() - 1);
  else out += text("float ", space.shape());
}

}  // namespace kiln::rl
