// Reductions of any shape and strides, by their plan (plan.hpp). What a group of results folds is split into pieces of
// fixed size, whose partial results are joined in order: so the bits are the same on any number of threads.
#include "kiln/backend/cpu/simd/reduce/reduce.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/memory_order.hpp"
#include "kiln/backend/cpu/simd/elementwise/convert.hpp"
#include "kiln/backend/cpu/simd/reduce/plan.hpp"
#include "kiln/ops/reduce/reduce_ops.hpp"

namespace kiln::cpu::simd {
namespace {

class Reduction {
 public:
  Reduction(Fold fold, const op::Reduce& op, const Array& x, ReducedParts parts, const Array& z)
      : kernel_(fold_kernel(x.dtype, fold)),
        join_(fold_kernel(kernel_.folded, combiner(fold))),
        plan_(plan_reduction(x.shape, x.strides, z.strides, op.dims)),
        parts_(parts),
        x_(x),
        z_(z),
        fn_(op.fn) {}

  void run() const {
    if (plan_.pieces > 1) return run_in_pieces();
    const std::int64_t work = std::max<std::int64_t>(1, plan_.count * plan_.group);
    parallel_for(plan_.groups, std::max<std::int64_t>(1, ReducePlan::kPiece / 2 / work),
                 [&](std::int64_t begin, std::int64_t end) {
                   parts_([&](FindPart find) {
                     Results results;
                     each_group(begin, end, [&](const Group& group) {
                       kernel_.start(results, group.count);
                       fold_piece(find, group, 0, results);
                       store(results, group);
                     });
                   });
                 });
  }

 private:
  using Results = double[ReducePlan::kMostResults];  // of the FoldType
  /// Neighbouring results, and the offsets of the first one in z and of its first element in x.
  struct Group {
    std::int64_t number, z, x, count;
  };

  void run_in_pieces() const {
    const std::int64_t pieces = plan_.pieces, items = plan_.groups * pieces;
    const auto size = static_cast<std::int64_t>(size_of(kernel_.folded));
    std::vector<double> partial(static_cast<std::size_t>(items * plan_.group));  // of the FoldType
    const auto results_of = [&](std::int64_t item) {
      return reinterpret_cast<std::byte*>(partial.data()) + item * plan_.group * size;
    };
    kernel_.start(partial.data(), items * plan_.group);
    parallel_for(items, 1, [&](std::int64_t begin, std::int64_t end) {
      parts_([&](FindPart find) {
        for (std::int64_t item = begin; item < end; ++item)
          each_group(item / pieces, item / pieces + 1,
                     [&](const Group& group) { fold_piece(find, group, item % pieces, results_of(item)); });
      });
    });
    each_group(0, plan_.groups, [&](const Group& group) {
      Results results;
      kernel_.start(results, group.count);
      join_.columns(results_of(group.number * pieces), pieces, plan_.group, group.count, results);
      store(results, group);
    });
  }

  /// Calls f(Group) for groups [begin, end).
  template <class F>
  void each_group(std::int64_t begin, std::int64_t end, F&& f) const {
    const std::int64_t per_row = plan_.groups_per_row();
    std::int64_t group = begin;
    plan_.kept.each(begin / per_row, divide_up(end, per_row), [&](const auto& offsets) {
      const std::int64_t row_end = std::min(end, (group / per_row + 1) * per_row);
      for (; group < row_end; ++group) {
        const std::int64_t at = group % per_row * plan_.group;
        f(Group{group, offsets[0] + at * plan_.kept.steps()[0], offsets[1] + at * plan_.kept.steps()[1],
                std::min(plan_.group, plan_.kept.length() - at)});
      }
    });
  }

  /// Folds a piece of the elements of each result of a group.
  void fold_piece(FindPart find, const Group& group, std::int64_t piece, void* results) const {
    const std::int64_t length = plan_.folded.length(), step = plan_.folded.steps()[0],
                       column_stride = plan_.kept.steps()[1];
    const std::int64_t end = std::min(plan_.count, (piece + 1) * plan_.piece);
    std::int64_t at = piece * plan_.piece;
    if (at >= end) return;
    plan_.folded.each(at / length, divide_up(end, length), [&](const auto& offsets) {
      const std::int64_t first = at % length, rows = std::min(length - first, end - at);
      const FoundPart part = find({group.x + offsets[0] + first * step, rows, step, group.count, column_stride});
      if (plan_.is_by_rows()) kernel_.lines(part.data, group.count, part.column_stride, rows, results);
      else kernel_.columns(part.data, rows, part.step, group.count, results);
      at += rows;
    });
  }

  /// Lengths of doubles whose squares left the range are computed again, scaled by the largest magnitude.
  void scale_lengths(const Group& group, double* lengths) const {
    for (std::int64_t i = 0; i < group.count; ++i) {
      if (lengths[i] > 0x1p-450 && lengths[i] < std::numeric_limits<double>::infinity()) continue;
      const double* const first = x_.as<double>() + group.x + i * plan_.kept.steps()[1];
      const auto each = [&](auto&& take) {
        plan_.folded.each([&](const auto& offsets) {
          for (std::int64_t k = 0; k < plan_.folded.length(); ++k)
            take(std::abs(first[offsets[0] + k * plan_.folded.steps()[0]]));
        });
      };
      double most = 0, sum = 0;
      each([&](double size) { most = size > most || size != size ? size : most; });
      each([&](double size) { sum += size / most * (size / most); });
      lengths[i] = most > 0 && most < std::numeric_limits<double>::infinity() ? most * std::sqrt(sum) : most;
    }
  }

  /// Writes the results to z, where they are contiguous. Finishes them in place.
  void store(void* results, const Group& group) const {
    finish_fold(fn_, plan_.count, results, group.count);
    if (fn_ == op::ReduceFn::Length && x_.dtype == DType::F64) scale_lengths(group, static_cast<double*>(results));
    convert(kernel_.folded, results, z_.dtype, z_.data + group.z * static_cast<std::int64_t>(size_of(z_.dtype)),
            group.count);
  }

  const FoldKernel &kernel_, &join_;
  ReducePlan plan_;
  ReducedParts parts_;
  Array x_, z_;
  op::ReduceFn fn_;
};

/// Calls use_parts with a way to find parts in the memory of x.
template <class F>
void with_parts_of(const Array& x, F&& use_parts) {
  const auto size = static_cast<std::int64_t>(size_of(x.dtype));
  const auto in_memory = [&](const ReducedPart& part) {
    return FoundPart{x.data + part.first * size, part.step, part.column_stride};
  };
  use_parts([&](FunctionRef<void(FindPart)> use) { use(in_memory); });
}

}  // namespace

void reduce(const op::Reduce& op, const Array& x, ReducedParts parts, Value& result) {
  const Array z = allocate(result, dense_like(result.shape(), x));
  if (numel(z.shape) == 0) return;  // the product of the other sizes may overflow
  Reduction(fold_of(op.fn), op, x, parts, z).run();
}

void reduce_mapped(Fold fold, const op::Reduce& op, const Array& x, Value& result) {
  const Array z = allocate(result, dense_like(result.shape(), x));
  with_parts_of(x, [&](ReducedParts parts) { Reduction(fold, op, x, parts, z).run(); });
}

bool run(const op::Reduce& op, Call call) {
  const Array x = read(call.in[0]);
  // The result of folding nothing would be the neutral element of uint8, which is no boolean.
  if (x.dtype == DType::Bool && x.numel() == 0 && numel(call.out[0].shape()) != 0) return false;
  with_parts_of(x, [&](ReducedParts parts) { reduce(op, x, parts, call.out[0]); });
  return true;
}

}  // namespace kiln::cpu::simd
