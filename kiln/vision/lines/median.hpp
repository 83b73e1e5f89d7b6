// Networks of minima and maxima that find a median.
#pragma once
#include <array>
#include <cstddef>
#include <vector>

#include "kiln/ops/value.hpp"

namespace kiln::vision {

struct Exchange {
  int low = 0, high = 0;                       // wires: the smaller element goes to `low`
  bool needs_low = false, needs_high = false;  // does anybody read what is left there?
};

/// Calls f(low, high) for the exchanges of Batcher's odd-even merge sort (Batcher, "Sorting networks and their applications",
/// 1968) of `count` wires, in the iterative form for any count of Knuth, "The art of computer programming" 3, 5.2.2,
/// algorithm M.
template <class F>
constexpr void each_exchange(int count, F f) {
  int power = 1;
  while (2 * power < count) power *= 2;
  for (int p = power; p > 0; p /= 2) {
    int q = power, rest = 0, distance = p;
    for (;;) {
      for (int i = 0; i + distance < count; ++i)
        if ((i & p) == rest) f(i, i + distance);
      if (q == p) break;
      distance = q - p;
      q /= 2;
      rest = p;
    }
  }
}

/// Marks the exchanges on whose results wire `wanted` depends; `needed` has a flag for each wire.
template <class Exchanges, class Flags>
constexpr void mark_needed(Exchanges& exchanges, Flags& needed, std::size_t wanted) {
  needed[wanted] = true;
  for (std::size_t i = exchanges.size(); i-- > 0;) {
    const auto low = static_cast<std::size_t>(exchanges[i].low), high = static_cast<std::size_t>(exchanges[i].high);
    exchanges[i].needs_low = needed[low];
    exchanges[i].needs_high = needed[high];
    if (needed[low] || needed[high]) needed[low] = needed[high] = true;
  }
}

/// The median of an odd number of values of one shape.
Value median_of(std::vector<Value> wires);

}  // namespace kiln::vision
