// Reductions of numbers that are made as they are asked for.
#pragma once
#include <cstdint>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/simd/reduce/fold.hpp"
#include "kiln/core/function_ref.hpp"
#include "kiln/ops/reduce/reduce_ops.hpp"

namespace kiln::cpu::simd {

/// Elements of what is reduced, counted in the order of memory: those of row r and column c are
/// first + r * step + c * apart. Either step or apart is 1, unless there is one row, or one column.
struct ReducedPart {
  std::int64_t first;
  std::int64_t rows, step;
  std::int64_t columns, apart;
};
/// Where they lie: that of row r and column c is number r * step + c * apart from `data` on. Neither changes whether
/// rows or columns follow one another without gaps.
struct FoundPart {
  const void* data;
  std::int64_t step, apart;
};
using FindPart = FunctionRef<FoundPart(const ReducedPart&)>;
/// Called once for each piece of work, perhaps on several threads: calls what it is given with a way to find parts, each
/// of which stays until the next. Each element is asked for once.
using ReducedParts = FunctionRef<void(FunctionRef<void(FindPart)>)>;

/// To the bit what the reduction gives of a tensor of x's shape and strides, whose memory is not looked at.
void reduce(const op::Reduce& op, const Array& x, ReducedParts parts, Value& result);
/// The sum or the mean of the squares of floats, rounded to their type, or of floats that are no NaN: to the bit what the
/// reduction gives of these, in memory as x is.
void reduce_mapped(Fold fold, const op::Reduce& op, const Array& x, Value& result);

}  // namespace kiln::cpu::simd
