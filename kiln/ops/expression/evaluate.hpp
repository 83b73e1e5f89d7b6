// Evaluates trees step by step: the meaning of an expression without a compiler, to test printed text and kernels
// against.
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

/// Returns the tree's value where its variables, in the order of the scope, are `operands`. T is double, float, or an
/// integer of 32 or 64 bits. Functions are those of scalar_math.hpp; with a dialect only those that the dialect has,
/// and the library's definitions for the others. Integers wrap around, and dividing one by 0 gives 0.
template <class T>
Cell<T> evaluate(const Tree& tree, std::span<const Cell<T>> operands, const Dialect* dialect = nullptr);

/// Returns all results of a function.
template <class T>
std::vector<Cell<T>> evaluate(const Function& function, std::span<const Cell<T>> operands,
                              const Dialect* dialect = nullptr);

/// A column of operands or results: numbers, or words.
template <class T>
struct Column {
  T* numbers = nullptr;
  std::uint32_t* words = nullptr;
};

/// The lanes of columns that are computed: those where `there` is not 0, or all where it is null.
struct Lanes {
  std::size_t count = 0;
  const std::uint8_t* there = nullptr;
};

/// A tree or a function, which must outlive it, prepared for evaluation with many operands at a time. Several threads
/// may use it at once.
template <class T>
class Evaluator {
 public:
  explicit Evaluator(const Tree& tree, const Dialect* dialect = nullptr);
  explicit Evaluator(const Function& function, const Dialect* dialect = nullptr);
  /// Fills the columns of its results, in the lanes that are computed.
  void run(Lanes lanes, std::span<const Column<T>> operands, std::span<const Column<T>> results) const;

  struct Routine;

 private:
  struct Ready;
  std::shared_ptr<const Ready> ready_;
};

}  // namespace kiln::expr
