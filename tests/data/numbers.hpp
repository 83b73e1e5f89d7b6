#pragma once
#include <numeric>
#include <utility>
#include <vector>

#include "kiln/data/dataset.hpp"

namespace kiln::test {

/// The items 0, 1, ... count - 1.
inline DatasetPtr<int> numbers(int count) {
  std::vector<int> items(static_cast<std::size_t>(count));
  std::iota(items.begin(), items.end(), 0);
  return in_memory(std::move(items));
}

}  // namespace kiln::test
