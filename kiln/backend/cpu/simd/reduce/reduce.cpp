// Reductions of any shape, by column reductions (fold_rows) where neighbouring results are contiguous in x, and by row
// reductions (fold_lines) where the reduced axis is. The kept dimensions give groups of neighbouring results. What a
// group folds is split into pieces of fixed size, whose partial results are combined in order: so the bits are the same
// on any number of threads.
#include "kiln/backend/cpu/simd/reduce/reduce.hpp"

#include <algorithm>
#include <vector>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/pieces.hpp"
#include "kiln/backend/cpu/rows.hpp"
#include "kiln/backend/cpu/simd/elementwise/convert.hpp"
#include "kiln/backend/cpu/simd/order/order.hpp"
#include "kiln/backend/cpu/simd/reduce/fold.hpp"
#include "kiln/core/convert.hpp"
#include "kiln/core/grain.hpp"
#include "kiln/ops/reduce/reduce_ops.hpp"

namespace kiln::cpu::simd {
namespace {

constexpr std::int64_t kColumns = 2048;  // the most results of a group: they stay in the first-level cache

template <class T, Fold fold>
class Reduction {
 public:
  using A = FoldType<T, fold>;
  using Z = std::conditional_t<std::is_integral_v<T>, A, T>;  // the type of the stored results

  Reduction(const Array& x, ReducedParts parts, const Array& z, const Shape& folded, double divisor)
      : parts_(parts), z_(z), kept_(z.shape, {z.strides, x.strides}), folded_(folded, {x.strides}), divisor_(divisor) {
    count_ = folded_.count() * folded_.length();
    side_by_side_ = kept_.steps()[1] == 1 && folded_.steps()[0] != 1;
    columns_ = side_by_side_ ? std::min(kept_.length(), kColumns) : 1;
    rows_per_piece_ = limited_grain(std::max<std::int64_t>(64, kFoldedPiece / columns_));
    pieces_ = std::max<std::int64_t>(1, (count_ + rows_per_piece_ - 1) / rows_per_piece_);
    // In a row reduction of short lines, a group may have several results.
    if (!side_by_side_ && folded_.steps()[0] == 1 && pieces_ == 1 && count_ > 0) {
      const std::int64_t most = std::clamp<std::int64_t>(kept_.length(), 1, kColumns);
      columns_ = std::clamp<std::int64_t>(kFoldedPiece / 2 / count_, 1, most);
      // If each result folds several lines, wide groups read longer contiguous ranges of memory.
      if (folded_.count() > 1) columns_ = std::max(columns_, std::min(most, divide_up(kept_.length(), num_threads())));
    }
    groups_per_row_ = kept_.length() > 0 ? (kept_.length() + columns_ - 1) / columns_ : 0;
  }

  void run() const {
    const std::int64_t groups = kept_.count() * groups_per_row_;
    if (pieces_ == 1) {
      const std::int64_t work = std::max<std::int64_t>(1, count_ * columns_);
      parallel_for(groups, std::max<std::int64_t>(1, kFoldedPiece / 2 / work),
                   [&](std::int64_t begin, std::int64_t end) {
                     parts_([&](FindPart find) {
                       A results[kColumns];
                       each_group(begin, end, [&](std::int64_t, std::int64_t z, std::int64_t x, std::int64_t columns) {
                         std::fill_n(results, columns, fold_start<T, fold>());
                         fold_piece(find, x, 0, count_, columns, results);
                         store(results, z, columns);
                       });
                     });
                   });
      return;
    }
    std::vector<A> partial(static_cast<std::size_t>(groups * pieces_ * columns_), fold_start<T, fold>());
    parallel_for(groups * pieces_, 1, [&](std::int64_t begin, std::int64_t end) {
      parts_([&](FindPart find) {
        for (std::int64_t item = begin; item < end; ++item) {
          const std::int64_t group = item / pieces_, first = item % pieces_ * rows_per_piece_;
          each_group(group, group + 1, [&](std::int64_t, std::int64_t, std::int64_t x, std::int64_t columns) {
            fold_piece(find, x, first, std::min(count_, first + rows_per_piece_), columns,
                       &partial[static_cast<std::size_t>(item * columns_)]);
          });
        }
      });
    });
    each_group(0, groups, [&](std::int64_t group, std::int64_t z, std::int64_t, std::int64_t columns) {
      A results[kColumns];
      std::fill_n(results, columns, fold_start<T, fold>());
      const A* parts = &partial[static_cast<std::size_t>(group * pieces_ * columns_)];
      fold_rows<A, joined(fold)>(parts, pieces_, columns_, columns, results);
      store(results, z, columns);
    });
  }

 private:
  /// Calls f(group, first element of z, first element of x, columns) for groups [begin, end).
  template <class F>
  void each_group(std::int64_t begin, std::int64_t end, F&& f) const {
    std::int64_t group = begin;
    kept_.each(begin / groups_per_row_, (end + groups_per_row_ - 1) / groups_per_row_, [&](const auto& offsets) {
      const std::int64_t row_end = std::min(end, (group / groups_per_row_ + 1) * groups_per_row_);
      for (; group < row_end; ++group) {
        const std::int64_t at = group % groups_per_row_ * columns_;
        f(group, offsets[0] + at * kept_.steps()[0], offsets[1] + at * kept_.steps()[1],
          std::min(columns_, kept_.length() - at));
      }
    });
  }

  /// Folds elements [begin, end) of each of `columns` neighbouring results into `results`. `x` is the offset of the
  /// first element of the first of them.
  void fold_piece(FindPart find, std::int64_t x, std::int64_t begin, std::int64_t end, std::int64_t columns,
                  A* results) const {
    const std::int64_t length = folded_.length(), step = folded_.steps()[0], apart = kept_.steps()[1];
    if (begin >= end) return;
    std::int64_t at = begin;
    folded_.each(begin / length, (end + length - 1) / length, [&](const auto& offsets) {
      const std::int64_t first = at % length, rows = std::min(length - first, end - at);
      const FoundPart part = find({x + offsets[0] + first * step, rows, step, columns, apart});
      const auto* const from = static_cast<const T*>(part.data);
      if (side_by_side_ || columns == 1) fold_rows<T, fold>(from, rows, part.step, columns, results);
      else fold_lines<T, fold>(from, columns, part.apart, rows, results);
      at += rows;
    });
  }

  /// Writes the results to z. Divides `results` in place for means.
  void store(A* results, std::int64_t z, std::int64_t columns) const {
    constexpr std::int64_t kFew = 8;
    const std::int64_t step = kept_.steps()[0];
    if constexpr (std::is_same_v<A, double>)
      if (divisor_ != 1) divide_by(divisor_, results, columns);
    Z* const to = z_.as<Z>() + z;
    if (step == 1 && columns > kFew) return simd::convert(dtype_of<A>, results, dtype_of<Z>, to, columns);
    for (std::int64_t i = 0; i < columns; ++i) to[i * step] = kiln::convert<Z>(results[i]);
  }

  ReducedParts parts_;
  Array z_;
  Rows<2> kept_;    // the kept dimensions, in z and in x
  Rows<1> folded_;  // the reduced dimensions, in x
  double divisor_;
  std::int64_t count_, columns_, groups_per_row_, rows_per_piece_, pieces_;
  bool side_by_side_;
};

template <class T>
void reduce_to(op::ReduceFn fn, const Array& x, ReducedParts parts, const Array& z, const Shape& folded) {
  switch (fn) {
    case op::ReduceFn::Sum: return Reduction<T, Fold::Sum>(x, parts, z, folded, 1).run();
    case op::ReduceFn::Mean:
      if constexpr (!std::is_integral_v<T>)
        return Reduction<T, Fold::Sum>(x, parts, z, folded, static_cast<double>(numel(folded))).run();
      break;
    case op::ReduceFn::Prod: return Reduction<T, Fold::Prod>(x, parts, z, folded, 1).run();
    case op::ReduceFn::Any:
    case op::ReduceFn::Max: return Reduction<T, Fold::Max>(x, parts, z, folded, 1).run();
    case op::ReduceFn::All:
    case op::ReduceFn::Min: return Reduction<T, Fold::Min>(x, parts, z, folded, 1).run();
  }
}

Shape folded_of(const op::Reduce& op, const Shape& shape) {
  Shape folded = Shape::filled(shape.size(), 1);
  for (const auto dim : op.dims) folded[static_cast<int>(dim)] = shape[static_cast<int>(dim)];
  return folded;
}

/// Calls use_parts with a way to find parts in the memory of x.
template <class F>
void with_parts_of(const Array& x, F&& use_parts) {
  const auto size = static_cast<std::int64_t>(size_of(x.dtype));
  const auto in_memory = [&](const ReducedPart& part) {
    return FoundPart{x.data + part.first * size, part.step, part.apart};
  };
  use_parts([&](FunctionRef<void(FindPart)> use) { use(in_memory); });
}

}  // namespace

void reduce(const op::Reduce& op, const Array& x, ReducedParts parts, Value& result) {
  const Array z = allocate(result, dense_like(result.shape(), x));
  if (numel(z.shape) == 0) return;  // the product of the other sizes may overflow
  visit_dtype(x.dtype, [&]<class T>(TypeTag<T>) {
    using Number = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;
    reduce_to<Number>(op.fn, x, parts, z, folded_of(op, x.shape));
  });
}

void reduce_mapped(Fold fold, const op::Reduce& op, const Array& x, Value& result) {
  const Array z = allocate(result, dense_like(result.shape(), x));
  const Shape folded = folded_of(op, x.shape);
  const double divisor = op.fn == op::ReduceFn::Mean ? static_cast<double>(numel(folded)) : 1;
  visit_dtype(x.dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_floating_point_v<T> || is_half<T>)
      with_parts_of(x, [&](ReducedParts parts) {
        if (fold == Fold::Squares) Reduction<T, Fold::Squares>(x, parts, z, folded, divisor).run();
        else Reduction<T, Fold::Numbers>(x, parts, z, folded, divisor).run();
      });
  });
}

bool run(const op::Reduce& op, Call call) {
  const Array x = read(call.in[0]);
  // The result of folding nothing would be the neutral element of uint8, which is no boolean.
  if (x.dtype == DType::Bool && numel(call.out[0].shape()) != 0 && numel(folded_of(op, x.shape)) == 0) return false;
  with_parts_of(x, [&](ReducedParts parts) { reduce(op, x, parts, call.out[0]); });
  return true;
}

}  // namespace kiln::cpu::simd
