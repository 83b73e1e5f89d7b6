// The indices of extremes along a dimension. Lines are split into pieces of fixed size, whose extremes are compared in
// order.
#include <algorithm>
#include <vector>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/lines.hpp"
#include "kiln/backend/cpu/simd/elementwise/convert.hpp"
#include "kiln/backend/cpu/simd/reduce/arg_fold.hpp"
#include "kiln/core/grain.hpp"
#include "kiln/ops/reduce/reduce_ops.hpp"

namespace kiln::cpu::simd {
namespace {

constexpr std::int64_t kPiece = 32768;   // the elements of one piece
constexpr std::int64_t kColumns = 1024;  // the most neighbouring lines of one piece

/// The type in which elements are compared. Halves are compared as floats, to which each piece is converted.
template <class T>
using Compared = std::conditional_t<is_half<T>, float, T>;

template <class T>
void search_piece(bool largest, const T* x, std::int64_t rows, std::int64_t stride, std::int64_t columns,
                  Compared<T>* best, std::int32_t* places) {
  if constexpr (is_half<T>) {
    std::vector<float> copy(static_cast<std::size_t>(rows * columns));
    if (stride == columns) convert(dtype_of<T>, x, DType::F32, copy.data(), rows * columns);
    else
      for (std::int64_t row = 0; row < rows; ++row)
        convert(dtype_of<T>, x + row * stride, DType::F32, copy.data() + row * columns, columns);
    arg_fold<float>(largest, copy.data(), rows, columns, columns, best, places);
  } else {
    arg_fold<T>(largest, x, rows, stride, columns, best, places);
  }
}

template <class T>
void arg_reduce(bool largest, const T* x, const Lines& lines, std::int64_t* z) {
  using C = Compared<T>;
  const std::int64_t columns = std::min(lines.inner, kColumns), groups = (lines.inner + columns - 1) / columns;
  const std::int64_t rows = std::min(lines.length, limited_grain(std::max<std::int64_t>(64, kPiece / columns)));
  const std::int64_t pieces = (lines.length + rows - 1) / rows, tasks = lines.outer * groups * pieces;
  std::vector<C> found(static_cast<std::size_t>(pieces > 1 ? tasks * columns : 0));
  std::vector<std::int32_t> found_at(found.size());

  // Calls f(first element of x, first element of z, rows before, columns) for a task.
  const auto visit = [&](std::int64_t task, auto&& f) {
    const std::int64_t piece = task % pieces, group = task / pieces % groups, outer = task / pieces / groups;
    const std::int64_t column = group * columns, before = piece * rows;
    f((outer * lines.length + before) * lines.inner + column, outer * lines.inner + column, before,
      std::min(columns, lines.inner - column));
  };
  parallel_for(tasks, std::max<std::int64_t>(1, kPiece / (rows * columns)), [&](std::int64_t begin, std::int64_t end) {
    C own[kColumns];
    std::int32_t own_at[kColumns];
    for (std::int64_t task = begin; task < end; ++task)
      visit(task, [&](std::int64_t from, std::int64_t to, std::int64_t before, std::int64_t width) {
        const auto slot = static_cast<std::size_t>(task * columns);
        C* best = pieces > 1 ? &found[slot] : own;
        std::int32_t* places = pieces > 1 ? &found_at[slot] : own_at;
        search_piece(largest, x + from, std::min(rows, lines.length - before), lines.inner, width, best, places);
        if (pieces == 1) std::copy_n(places, width, z + to);
      });
  });
  if (pieces == 1) return;
  for (std::int64_t first = 0; first < tasks; first += pieces)
    visit(first, [&](std::int64_t, std::int64_t to, std::int64_t, std::int64_t width) {
      for (std::int64_t i = 0; i < width; ++i) {
        std::int64_t best = 0;
        const auto extreme = [&](std::int64_t piece) {
          return found[static_cast<std::size_t>((first + piece) * columns + i)];
        };
        for (std::int64_t piece = 1; piece < pieces; ++piece)
          if (largest ? beats<true>(extreme(piece), extreme(best)) : beats<false>(extreme(piece), extreme(best)))
            best = piece;
        z[to + i] = best * rows + found_at[static_cast<std::size_t>((first + best) * columns + i)];
      }
    });
}

}  // namespace

bool run(const op::ArgReduce& op, Call call) {
  Value held;
  const Array x = read_contiguous(call.in[0], held), z = allocate(call.out[0]);
  if (z.numel() == 0) return true;
  const Lines lines(x.shape, op.dim);
  visit_dtype(x.dtype, [&]<class T>(TypeTag<T>) {
    using Element = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;
    arg_reduce(op.fn == op::ArgFn::ArgMax, x.as<Element>(), lines, z.as<std::int64_t>());
  });
  return true;
}

}  // namespace kiln::cpu::simd
