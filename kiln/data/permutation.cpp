#include "kiln/data/permutation.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "kiln/core/error/error.hpp"

namespace kiln {

std::vector<std::int64_t> permutation(std::int64_t count, Key key) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  Random random(key);
  for (std::int64_t i = count - 1; i > 0; --i)  // Fisher-Yates
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(random.below(i + 1))]);
  return order;
}

std::vector<std::vector<std::int64_t>> split_permutation(std::int64_t count, std::span<const std::int64_t> sizes,
                                                         Key key) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::uint64_t asked = 0;
  for (const auto size : sizes) {
    require<ArgumentError>(size >= 0, "split: a part cannot have ", size, " items");
    require<ArgumentError>(asked <= kMost, "split: the parts have more items than can be counted");
    asked += static_cast<std::uint64_t>(size);
  }
  require<ArgumentError>(asked <= static_cast<std::uint64_t>(count), "split: the parts have ", asked,
                         " items together, the data set has ", count);
  const auto order = permutation(count, key);
  std::vector<std::vector<std::int64_t>> parts;
  auto from = order.begin();
  for (const auto size : sizes) {
    parts.emplace_back(from, from + size);
    from += size;
  }
  return parts;
}

std::vector<std::size_t> in_ascending_order(std::span<const std::int64_t> indices) {
  std::vector<std::size_t> positions(indices.size());
  std::iota(positions.begin(), positions.end(), std::size_t{0});
  std::ranges::stable_sort(positions, {}, [&](std::size_t position) { return indices[position]; });
  return positions;
}

}  // namespace kiln
