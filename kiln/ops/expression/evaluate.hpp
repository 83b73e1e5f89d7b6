// What a tree is worth, computed step by step: the meaning of an expression without a compiler, to test printed text
// and kernels against.
#pragma once
#include <memory>
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

/// Operands, or results, side by side: numbers, or words.
template <class T>
struct Column {
  T* numbers = nullptr;
  std::uint32_t* words = nullptr;
};

/// The places of columns that count: those where `there` is not 0, or all where it is null.
struct Lanes {
  std::size_t count = 0;
  const std::uint8_t* there = nullptr;
};

/// A tree or a function, which outlives it, made ready to be evaluated for many operands at a time. May be used by several
/// threads at once.
template <class T>
class Evaluator {
 public:
  explicit Evaluator(const Tree& tree, const Dialect* dialect = nullptr);
  explicit Evaluator(const Function& function, const Dialect* dialect = nullptr);
  /// Fills the columns of its results, in the places that count.
  void run(Lanes lanes, std::span<const Column<T>> operands, std::span<const Column<T>> results) const;

  struct Routine;

 private:
  struct Ready;
  std::shared_ptr<const Ready> ready_;
};

}  // namespace kiln::expr
