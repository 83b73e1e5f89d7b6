// Products of 8-bit integers, cut into pieces for all threads: what matrices and convolutions have in common.
#pragma once
#include <vector>

#include "kiln/backend/cpu/epilogue.hpp"
#include "kiln/backend/cpu/integer/panels.hpp"

namespace kiln::cpu::integer {

/// The rows of left operands, bytes; signed ones become unsigned by 128 more.
class LeftRows {
 public:
  virtual ~LeftRows() = default;
  /// Where rows from `row` of matrix `index` on lie, step() apart; null where they have to be copied.
  virtual const std::uint8_t* in_place(std::int64_t index, std::int64_t row) const = 0;
  virtual std::int64_t step() const = 0;
  /// Rows [row, row + count), unsigned, `step` bytes apart.
  virtual void copy(std::int64_t index, std::int64_t row, std::int64_t count, std::uint8_t* to,
                    std::int64_t step) const = 0;
};

/// Matrices of results m x n, each element a sum of k terms (a - a_zero) (b - b_zero). Element (i, j) of matrix x is
/// element x * matrix_step + i * row_step + j of the whole.
struct Product {
  std::int64_t matrices, m, n, k, matrix_step, row_step;
  const LeftRows* left;
  std::int32_t a_zero;               // of unsigned left operands
  const PackPanels* packer;          // of the right ones
  const std::byte* right;            // packed
  std::vector<std::int64_t> rights;  // which of these each matrix has; empty: its own
  /// Of signed right operands: for each column, of each matrix where there are so many; or none.
  std::vector<std::int32_t> b_zeros;
};

/// To `result`, or to `epilogue` where there is one.
void multiply(const Product& product, const Tiles& tiles, const Epilogue* epilogue, std::int32_t* result);

/// The zero point that an operand has, one number; 0 where there is none.
std::int32_t number_of(const Value& zero);
/// The zero points, one or `count`, less a number; as many as that, or none where all come to 0.
std::vector<std::int32_t> zeros_of(const Value& zero, std::int32_t less, std::int64_t count);

}  // namespace kiln::cpu::integer
