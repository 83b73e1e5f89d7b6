// The median of a window by a sorting network, reduced to the exchanges that lead to the middle element.
#include <algorithm>
#include <utility>
#include <vector>

#include "kiln/core/error/called_as.hpp"
#include "kiln/ops/reduce/order.hpp"
#include "kiln/vision/filter.hpp"

namespace kiln::vision {
namespace {

struct Exchange {
  int low, high;                             // wires: the smaller element goes to `low`
  bool needs_low = true, needs_high = true;  // whether a later exchange, or the result, reads it
};

/// Returns Batcher's odd-even merge sort (Batcher, "Sorting networks and their applications", 1968) of `count` wires,
/// in the iterative form for any count of Knuth, "The art of computer programming" 3, 5.2.2, algorithm M.
std::vector<Exchange> sorting_network(int count) {
  std::vector<Exchange> network;
  int power = 1;
  while (2 * power < count) power *= 2;
  for (int p = power; p > 0; p /= 2) {
    int q = power, rest = 0, distance = p;
    for (;;) {
      for (int i = 0; i + distance < count; ++i)
        if ((i & p) == rest) network.push_back({i, i + distance});
      if (q == p) break;
      distance = q - p;
      q /= 2;
      rest = p;
    }
  }
  return network;
}

/// Returns the exchanges on which wire `wanted` depends, and which result of each is needed.
std::vector<Exchange> leading_to(int wanted, int count) {
  std::vector<Exchange> network = sorting_network(count), kept;
  std::vector<bool> needed(static_cast<std::size_t>(count));
  needed[static_cast<std::size_t>(wanted)] = true;
  for (auto each = network.rbegin(); each != network.rend(); ++each) {
    const auto low = static_cast<std::size_t>(each->low), high = static_cast<std::size_t>(each->high);
    each->needs_low = needed[low];
    each->needs_high = needed[high];
    if (!each->needs_low && !each->needs_high) continue;
    needed[low] = needed[high] = true;
    kept.push_back(*each);
  }
  std::ranges::reverse(kept);
  return kept;
}

}  // namespace

Value median_blur(const Value& x, std::int64_t size) {
  constexpr std::string_view name = "median_blur";
  const CalledAs named("median_blur");
  require_pictures(name, x);
  require<ArgumentError>(size >= 1 && size % 2 == 1 && size <= 63, name, ": the size ", size,
                         " must be odd and from 1 to 63");
  if (x.numel() == 0 || size == 1) return x;
  const std::int64_t reach = size / 2;
  const Value wide = make_border(x, {reach, reach, reach, reach}, Border::Replicate);
  Values wires;
  for (std::int64_t row = 0; row < size; ++row)
    for (std::int64_t column = 0; column < size; ++column)
      wires.push_back(narrow(narrow(wide, 2, row, x.dim(2)), 3, column, x.dim(3)));
  constexpr std::int64_t kLargestNetwork = 9;
  const std::int64_t middle = size * size / 2;
  if (size > kLargestNetwork) return kthvalue(stack(wires, -1), middle + 1, -1).values;
  for (const Exchange& each : leading_to(static_cast<int>(middle), static_cast<int>(size * size))) {
    Value &low = wires[static_cast<std::size_t>(each.low)], &high = wires[static_cast<std::size_t>(each.high)];
    const Value smaller = each.needs_low ? minimum(low, high) : Value(),
                larger = each.needs_high ? maximum(low, high) : Value();
    low = smaller;
    high = larger;
  }
  return wires[static_cast<std::size_t>(middle)];
}

}  // namespace kiln::vision
