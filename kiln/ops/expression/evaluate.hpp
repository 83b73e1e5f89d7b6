// What a tree is worth, computed step by step: the meaning of an expression without a compiler, to test printed text
// and kernels against.
#pragma once
#include <span>

#include "kiln/ops/expression/dialect.hpp"

namespace kiln::expr {

/// The value of a node: `number` of a Number, `word` of a Word and, as 0 or 1, of a Bool.
template <class T>
struct Cell {
  T number{};
  std::uint32_t word = 0;
};

/// The tree's value where its variables, in the order of the scope, are `operands`. T is double, float, or an integer
/// of 32 or 64 bits. Functions are those of scalar_math.hpp; with a dialect only those that the dialect has, and the
/// library's definitions stand for others. Integers wrap around, and dividing one by 0 gives 0.
template <class T>
Cell<T> evaluate(const Tree& tree, std::span<const Cell<T>> operands, const Dialect* dialect = nullptr);

/// Of a function: as many results as it has.
template <class T>
std::vector<Cell<T>> evaluate(const Function& function, std::span<const Cell<T>> operands,
                              const Dialect* dialect = nullptr);

}  // namespace kiln::expr
