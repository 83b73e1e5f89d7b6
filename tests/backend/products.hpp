// Products that every kernel for them has to get right, whatever the types it knows. check(a, b) multiplies and compares.
#pragma once
#include <gtest/gtest.h>

#include <numeric>
#include <utility>
#include <vector>

#include "tests/backend/arrays.hpp"

namespace kiln::cpu {

/// Operands neither of whose last two dimensions has stride 1.
template <class Check>
void check_what_is_copied(DType dtype, Check&& check) {
  const auto numbers_in = [&](const Shape& shape, unsigned seed) { return random_tensor(shape, seed, {}, dtype); };
  const Value big = numbers_in({40, 60}, 5);
  check(view_of(big, {20, 30}, {120, 2}), numbers_in({30, 8}, 6));                // every other row and column
  check(view_of(big, {40, 60}, {-60, 1}, 39 * 60), numbers_in({60, 8}, 7));       // rows from last to first
  check(view_of(numbers_in({60}, 8), {40, 60}, {0, 1}), numbers_in({60, 8}, 9));  // one row, forty times
  check(view_of(numbers_in({60}, 8), {60, 40}, {1, 0}), numbers_in({40, 8}, 9));
  check(view_of(numbers_in({1}, 8), {6, 7}, {0, 0}), numbers_in({7, 8}, 9));
  check(view_of(numbers_in({90}, 8), {30, 60}, {1, 1}), numbers_in({60, 8}, 9));  // a window that slides
}

/// Batches that broadcast, each also with the right operand's columns side by side.
template <class Check>
void check_batches(DType dtype, Check&& check) {
  for (const auto& [a, b] : std::initializer_list<std::pair<Shape, Shape>>{{{5, 3, 4}, {5, 4, 6}},
                                                                           {{5, 3, 4}, {4, 6}},
                                                                           {{3, 4}, {5, 4, 6}},
                                                                           {{5, 1, 3, 4}, {7, 4, 6}},
                                                                           {{5, 7, 3, 4}, {5, 1, 4, 6}},
                                                                           {{5, 7, 3, 4}, {7, 4, 6}},
                                                                           {{5, 7, 13, 4}, {5, 1, 4, 16}},
                                                                           {{5, 7, 13, 40}, {7, 40, 36}},
                                                                           {{1, 3, 4}, {1, 1, 4, 6}},
                                                                           {{2, 3, 1, 5, 4}, {3, 6, 4, 2}},
                                                                           {{9, 1, 4}, {4, 6}},
                                                                           {{9, 1, 4}, {9, 4, 1}},
                                                                           {{96, 64, 32}, {96, 32, 64}},
                                                                           {{8, 200, 40}, {40, 120}},
                                                                           {{2, 3, 300, 130}, {3, 130, 260}},
                                                                           {{3, 300, 130}, {3, 130, 260}}}) {
    check(random_tensor(a, 10, {}, dtype), random_tensor(b, 11, {}, dtype));
    std::vector<int> turned(static_cast<std::size_t>(b.size()));
    std::iota(turned.begin(), turned.end(), 0);
    std::swap(turned[turned.size() - 1], turned[turned.size() - 2]);
    check(random_tensor(a, 10, {}, dtype), random_tensor(b, 11, turned, dtype));
  }
}

/// [batch, time, heads, width] seen as [batch, heads, time, width], and its transpose.
template <class Check>
void check_attention_heads(DType dtype, Check&& check) {
  const Value q = random_tensor({3, 4, 17, 8}, 12, {0, 2, 1, 3}, dtype),
              k = random_tensor({3, 4, 8, 17}, 13, {0, 3, 1, 2}, dtype);
  check(q, k);
  check(random_tensor({3, 4, 17, 17}, 14, {}, dtype), q);
  check(random_tensor({6, 5, 7}, 15, {1, 0, 2}, dtype), random_tensor({6, 7, 5}, 16, {2, 1, 0}, dtype));
}

/// Zeros for an empty sum, and nothing for empty operands.
template <class Multiply>
void check_products_of_nothing(DType dtype, Multiply&& multiply) {
  const auto multiplied = [&](const Shape& a, const Shape& b) {
    return multiply(random_tensor(a, 19, {}, dtype), random_tensor(b, 20, {}, dtype));
  };
  EXPECT_EQ(numbers(multiplied({2, 0}, {0, 3})), std::vector<double>(6, 0.0));
  EXPECT_EQ(multiplied({0, 4}, {4, 3}).shape(), (Shape{0, 3}));
  EXPECT_EQ(multiplied({2, 4}, {4, 0}).shape(), (Shape{2, 0}));
  EXPECT_EQ(multiplied({0, 2, 4}, {4, 3}).shape(), (Shape{0, 2, 3}));
}

}  // namespace kiln::cpu
