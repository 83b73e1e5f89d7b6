// Random orders of indices, by key: what shuffles, splits and epochs are made of.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "kiln/core/random.hpp"

namespace kiln {

/// 0, 1, ..., count - 1 in a random order, every order equally likely.
std::vector<std::int64_t> permutation(std::int64_t count, Key key);

/// permutation(count, key) cut into lists of these sizes; what remains is left out.
/// Throws ArgumentError where a size is negative or the sizes add up to more than count.
std::vector<std::vector<std::int64_t>> split_permutation(std::int64_t count, std::span<const std::int64_t> sizes,
                                                         Key key);

}  // namespace kiln
