// The reductions at the end of a fused program: the same bits as the reductions by themselves give (reduce.cpp).
#pragma once
#include <algorithm>
#include <vector>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/simd/reduce/fold_lanes.hpp"
#include "kiln/core/grain.hpp"
#include "kiln/ops/planned/fused.hpp"

namespace kiln::cpu::simd {

/// Rows, and pieces of long ones, have totals of their own, which are put together in order.
class Folding {
 public:
  explicit Folding(const op::Program& program) : folds_(program.folds) {
    const Shape& shape = program.shape;
    const auto first_folded = shape.begin() + folds_[0].kept;
    rows_ = numel(Shape(shape.begin(), first_folded));
    length_ = numel(Shape(first_folded, shape.end()));
    pieces_ = (length_ + piece_ - 1) / piece_;
    totals_.resize(place(rows_, 0));
  }

  /// Calls compute(begin, end, lanes) for all pieces, with what make_compute() gives a thread. It is to hand what each
  /// reduction folds to lanes of its own, which have begun.
  template <class F>
  void run(std::int64_t grain, F&& make_compute) {
    const std::int64_t items_of_a_grain = std::max<std::int64_t>(1, grain / std::min(length_, piece_));
    parallel_for(rows_ * pieces_, items_of_a_grain, [&](std::int64_t begin, std::int64_t end) {
      static thread_local std::vector<FoldLanes> lanes;
      lanes.resize(std::max(lanes.size(), folds_.size()));
      auto&& compute = make_compute();
      for (std::int64_t item = begin; item < end; ++item) {
        const std::int64_t row = item / pieces_ * length_, first = item % pieces_ * piece_;
        const std::int64_t count = std::min(length_ - first, piece_);
        for (std::size_t i = 0; i < folds_.size(); ++i) lanes[i].start(folds_[i].fn, count);
        compute(row + first, row + first + count, lanes.data());
        for (std::size_t i = 0; i < folds_.size(); ++i)
          totals_[place(item / pieces_, i) + static_cast<std::size_t>(item % pieces_)] = lanes[i].total();
      }
    });
  }

  /// The only reduction, whose rows lie one after the other in x, by fold_mapped_lines().
  template <Fold fold>
  void run_mapped(std::int64_t grain, const float* x) {
    const std::int64_t items_of_a_grain = std::max<std::int64_t>(1, grain / std::min(length_, piece_));
    parallel_for(rows_ * pieces_, items_of_a_grain, [&](std::int64_t begin, std::int64_t end) {
      if (pieces_ == 1)
        return fold_mapped_lines<fold>(x + begin * length_, end - begin, length_, length_, &totals_[place(begin, 0)]);
      for (std::int64_t item = begin; item < end; ++item) {
        const std::int64_t row = item / pieces_ * length_, first = item % pieces_ * piece_;
        fold_mapped_lines<fold>(x + row + first, 1, 0, std::min(length_ - first, piece_),
                                &totals_[static_cast<std::size_t>(item)]);
      }
    });
  }

  void store(std::size_t i, const Array& result) const {
    for (std::int64_t row = 0; row < rows_; ++row) {
      double total = totals_[place(row, i)];
      if (pieces_ > 1)
        visit_fold(folds_[i].fn, [&]<Fold fold>() { total = all_pieces<FoldType<float, fold>, fold>(place(row, i)); });
      if (folds_[i].fn == op::ReduceFn::Mean) total /= static_cast<double>(length_);
      result.as<float>()[row] = static_cast<float>(total);
    }
  }

 private:
  /// The total of reduction i's first piece of a row; the others follow.
  std::size_t place(std::int64_t row, std::size_t i) const {
    return (static_cast<std::size_t>(row) * folds_.size() + i) * static_cast<std::size_t>(pieces_);
  }
  template <class A, Fold fold>
  A all_pieces(std::size_t place) const {
    const auto first = totals_.begin() + static_cast<std::ptrdiff_t>(place);
    const std::vector<A> pieces(first, first + pieces_);
    auto total = fold_start<A, fold>();
    fold_rows<A, fold>(pieces.data(), pieces_, 1, 1, &total);
    return total;
  }

  const SpareVector<op::Program::Fold>& folds_;
  std::int64_t piece_ = limited_grain(kFoldedPiece), rows_, length_, pieces_;
  SpareVector<double> totals_;  // of each piece, of each reduction, of each row
};

}  // namespace kiln::cpu::simd
