// Products of 8-bit integers, divided into pieces for all threads: the common part of matrices and convolutions.
#pragma once
#include <vector>

#include "kiln/backend/cpu/epilogue.hpp"
#include "kiln/backend/cpu/integer/panels.hpp"

namespace kiln::cpu::integer {

/// The scratch memory of one thread for one piece of work: blocks whose contents are undefined at first.
class Scratch {
 public:
  template <class T>
  T* take(std::int64_t count) {
    if (count == 0) return nullptr;
    blocks_.push_back(make_ref<Memory>(static_cast<std::size_t>(count) * sizeof(T)));
    return reinterpret_cast<T*>(blocks_.back()->bytes());
  }

 private:
  std::vector<Ref<Memory>> blocks_;
};

/// The rows of left operands in bytes. Signed bytes become unsigned by adding 128.
class LeftRows {
 public:
  virtual ~LeftRows() = default;
  /// Returns the rows from `row` of matrix `index` on, step() apart; null if they have to be copied.
  virtual const std::uint8_t* in_place(std::int64_t index, std::int64_t row) const = 0;
  virtual std::int64_t step() const = 0;
  /// Copies rows [row, row + count), as unsigned bytes, `step` bytes apart.
  virtual void copy(std::int64_t index, std::int64_t row, std::int64_t count, std::uint8_t* to,
                    std::int64_t step) const = 0;
};

/// Matrices of results m x n, each element a sum of k terms (a - a_zero) (b - b_zero). Element (i, j) of matrix x is
/// element x * matrix_step + i * row_step + j of the whole result.
struct Product {
  std::int64_t matrices, m, n, k, matrix_step, row_step;
  const LeftRows* left;
  std::int32_t a_zero;               // the zero point of unsigned left operands
  const PackPanels* packer;          // packs the right operands
  const std::byte* right;            // the packed right operands
  std::vector<std::int64_t> rights;  // which of these each matrix multiplies; empty: its own
  /// The zero points of signed right operands, for each column, and of each matrix if there are so many; or none.
  std::vector<std::int32_t> b_zeros;
};

/// Computes them into `result`, or passes them to `epilogue` if there is one.
void multiply(const Product& product, const Tiles& tiles, const Epilogue* epilogue, std::int32_t* result);

/// Returns the zero point of an operand as one number; 0 if there is none.
std::int32_t number_of(const Value& zero);
/// Returns the zero points, one or `count`, minus a number: as many values, or none if all are 0.
std::vector<std::int32_t> zeros_of(const Value& zero, std::int32_t less, std::int64_t count);

}  // namespace kiln::cpu::integer
