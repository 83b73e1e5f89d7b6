// Reductions of numbers that are in memory, or that are computed when the reduction asks for them.
#pragma once
#include <cstdint>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/simd/reduce/fold.hpp"
#include "kiln/core/function_ref.hpp"
#include "kiln/ops/reduce/reduce_ops.hpp"

namespace kiln::cpu::simd {

/// A part of the reduced tensor. The element of row r and column c has the offset first + r * step + c * apart in the
/// order of memory. Either step or apart is 1, unless there is one row or one column.
struct ReducedPart {
  std::int64_t first;
  std::int64_t rows, step;
  std::int64_t columns, column_stride;
};
/// Where the numbers of a part are: the number of row r and column c is element r * step + c * apart of `data`. Rows,
/// or columns, are contiguous here if they are in the ReducedPart.
struct FoundPart {
  const void* data;
  std::int64_t step, column_stride;
};
using FindPart = FunctionRef<FoundPart(const ReducedPart&)>;
/// A function that is called once for each chunk of work, perhaps on several threads. It calls its argument with a
/// FindPart. A part that this finds stays valid until the next one is found. Each element is asked for once.
using ReducedParts = FunctionRef<void(FunctionRef<void(FindPart)>)>;

/// Reduces numbers of the shape and strides of x, which come from `parts`; the memory of x is read for lengths of doubles
/// alone. The bits are those of the reduction of a tensor with these numbers.
void reduce(const op::Reduce& op, const Array& x, ReducedParts parts, Value& result);
/// Computes the sum or the mean of the squares of floats, rounded to their type (Squares), or of the floats that are
/// not NaN (Numbers). The bits are those of the reduction of a tensor that holds these numbers in the layout of x.
void reduce_mapped(Fold fold, const op::Reduce& op, const Array& x, Value& result);

}  // namespace kiln::cpu::simd
