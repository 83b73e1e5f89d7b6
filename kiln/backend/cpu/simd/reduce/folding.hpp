// What folds tiles as they are made: the end of a fused program.
#pragma once
#include <algorithm>
#include <vector>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/simd/reduce/fold.hpp"
#include "kiln/core/grain.hpp"
#include "kiln/ops/planned/fused.hpp"

namespace kiln::cpu::simd {

/// The reductions at a program's end. Rows, and pieces of long ones, have totals of their own, which are put together
/// in order: the same bits on any number of threads.
class Folding {
 public:
  explicit Folding(const op::Program& program)
      : folds_(program.folds), count_(static_cast<std::int64_t>(folds_.size())) {
    const Shape& shape = program.shape;
    const auto first_folded = shape.begin() + folds_[0].kept;
    rows_ = numel(Shape(shape.begin(), first_folded));
    length_ = numel(Shape(first_folded, shape.end()));
    pieces_ = (length_ + piece_ - 1) / piece_;
    totals_.resize(static_cast<std::size_t>(rows_ * pieces_ * count_));
  }

  /// Calls compute(begin, end, totals) for all elements, with what make_compute() gives a thread. It is to put a piece's
  /// totals where they belong.
  template <class F>
  void run(std::int64_t grain, F&& make_compute) {
    const std::int64_t items_of_a_grain = std::max<std::int64_t>(1, grain / std::min(length_, piece_));
    parallel_for(rows_ * pieces_, items_of_a_grain, [&](std::int64_t begin, std::int64_t end) {
      auto&& compute = make_compute();
      for (std::int64_t item = begin; item < end; ++item) {
        double* const totals = &totals_[static_cast<std::size_t>(item * count_)];
        for (std::int64_t i = 0; i < count_; ++i) totals[i] = start(folds_[static_cast<std::size_t>(i)].fn);
        const std::int64_t row = item / pieces_ * length_, first = item % pieces_ * piece_;
        compute(row + first, row + std::min(length_, first + piece_), totals);
      }
    });
  }

  void take(std::size_t step, const float* x, std::int64_t count, double* totals) const {
    for (std::size_t i = 0; i < folds_.size(); ++i)
      if (folds_[i].step == step)
        visit(folds_[i].fn, [&]<Fold fold>() { fold_into<float, fold>(x, count, 1, totals[i]); });
  }

  void store(std::size_t i, const Array& result) const {
    const op::ReduceFn fn = folds_[i].fn;
    for (std::int64_t row = 0; row < rows_; ++row) {
      const double* const parts = &totals_[static_cast<std::size_t>(row * pieces_ * count_) + i];
      double total = parts[0];
      if (pieces_ > 1)
        visit(fn, [&]<Fold fold>() { fold_into<double, fold>(parts + count_, pieces_ - 1, count_, total); });
      if (fn == op::ReduceFn::Mean) total /= static_cast<double>(length_);
      result.as<float>()[row] = static_cast<float>(total);
    }
  }

 private:
  static constexpr std::int64_t kPiece = 65536;  // elements

  template <class F>
  static void visit(op::ReduceFn fn, F&& f) {
    if (fn == op::ReduceFn::Max) f.template operator()<Fold::Max>();
    else if (fn == op::ReduceFn::Min) f.template operator()<Fold::Min>();
    else f.template operator()<Fold::Sum>();
  }
  static double start(op::ReduceFn fn) {
    double start = 0;
    visit(fn, [&]<Fold fold>() { start = fold_start<double, fold>(); });
    return start;
  }
  template <class T, Fold fold>
  static void fold_into(const T* x, std::int64_t count, std::int64_t stride, double& total) {
    auto folded = static_cast<FoldType<T, fold>>(total);
    fold_rows<T, fold>(x, count, stride, 1, &folded);
    total = folded;
  }

  const SpareVector<op::Program::Fold>& folds_;
  std::int64_t count_, piece_ = limited_grain(kPiece), rows_, length_, pieces_;
  SpareVector<double> totals_;  // of each fold, of each piece, of each row
};

}  // namespace kiln::cpu::simd
