// Random permutations by key, for shuffles, splits and epochs.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kiln/core/random.hpp"

namespace kiln {

/// 0, 1, ..., count - 1 in a random order, every order equally likely.
std::vector<std::int64_t> permutation(std::int64_t count, Key key);

/// permutation(count, key) split into lists of these sizes; the rest is left out. Throws ArgumentError if a size is
/// negative or the sizes add up to more than count.
std::vector<std::vector<std::int64_t>> split_permutation(std::int64_t count, std::span<const std::int64_t> sizes,
                                                         Key key);

/// The positions of `indices` by ascending index; equal ones in the order of their positions.
std::vector<std::size_t> in_ascending_order(std::span<const std::int64_t> indices);

}  // namespace kiln
