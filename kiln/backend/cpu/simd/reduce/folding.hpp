// The row reductions at the end of a fused program. They give the same bits as separate reductions do (reduce.cpp).
#pragma once
#include <algorithm>
#include <vector>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/simd/elementwise/convert.hpp"
#include "kiln/backend/cpu/simd/reduce/fold_lanes.hpp"
#include "kiln/backend/cpu/simd/reduce/plan.hpp"
#include "kiln/core/convert.hpp"
#include "kiln/core/grain.hpp"
#include "kiln/ops/planned/fused.hpp"

namespace kiln::cpu::simd {

/// Rows are reduced one by one. Long rows are split into pieces, whose totals are folded in order. The elements of
/// short rows are copied together, and many of these rows are folded at once.
class FusedReductions {
 public:
  /// Returns whether the program's reductions are all sums, means or extremes of floats or doubles, or lengths of
  /// floats, over the same last dimensions.
  static bool takes(const op::Program& program) {
    using enum op::ReduceFn;
    return std::ranges::all_of(program.folds, [&](const op::Program::Fold& fold) {
      const DType dtype = program.steps[fold.step].dtype;
      return fold.kept(program.shape) && fold.dims == program.folds[0].dims &&
             (dtype == DType::F32 || dtype == DType::F64) &&
             (fold.fn == Sum || fold.fn == Mean || fold.fn == Max || fold.fn == Min ||
              (fold.fn == Length && dtype == DType::F32));
    });
  }

  explicit FusedReductions(const op::Program& program) : folds_(program.folds) {
    const Shape& shape = program.shape;
    const auto first_folded = shape.begin() + *folds_[0].kept(shape);
    rows_ = numel(Shape(shape.begin(), first_folded));
    length_ = numel(Shape(first_folded, shape.end()));
    pieces_ = (length_ + piece_ - 1) / piece_;
    if (pieces_ > 1) totals_.resize(static_cast<std::size_t>(rows_ * pieces_) * folds_.size());
    for (const op::Program::Fold& fold : folds_) types_.push_back(program.steps[fold.step].dtype);
  }

  /// Calls compute(begin, end, lanes, null) for all pieces of elements; each thread gets its `compute` from
  /// make_compute(). For each reduction i, compute must pass the numbers that it folds to lanes[i], whose run has been
  /// started.
  template <class F>
  void run(std::int64_t grain, F&& make_compute) {
    parallel_for(rows_ * pieces_, items_of(grain), [&](std::int64_t begin, std::int64_t end) {
      static thread_local std::vector<FoldLanes> lanes;
      static thread_local std::vector<double> numbers;  // kGathered numbers for each reduction
      lanes.resize(std::max(lanes.size(), folds_.size()));
      numbers.resize(std::max(numbers.size(), folds_.size() * std::size_t{kGathered}));
      auto&& compute = make_compute();
      if (pieces_ == 1 && length_ < kShortRow) {
        const std::int64_t most = kGathered / length_;
        for (std::int64_t row = begin; row < end; row += most) {
          const std::int64_t rows = std::min(most, end - row);
          for (std::size_t i = 0; i < folds_.size(); ++i)
            lanes[i].gather(types_[i], reinterpret_cast<std::byte*>(&numbers[i * kGathered]));
          compute(row * length_, (row + rows) * length_, lanes.data(), nullptr);
          for (std::size_t i = 0; i < folds_.size(); ++i)
            fold_rows(i, kernel_of(i), row, rows, length_, &numbers[i * kGathered]);
        }
        return;
      }
      for (std::int64_t item = begin; item < end; ++item) {
        const std::int64_t row = item / pieces_, piece = item % pieces_, first = row * length_ + piece * piece_;
        const std::int64_t count = std::min(length_ - piece * piece_, piece_);
        for (std::size_t i = 0; i < folds_.size(); ++i) lanes[i].start(folds_[i].fn, types_[i], count);
        compute(first, first + count, lanes.data(), nullptr);
        for (std::size_t i = 0; i < folds_.size(); ++i) keep(i, row, piece, lanes[i].total());
      }
    });
    combine_pieces();
  }

  SpareVector<Array> results{};  // the results of the reductions, in order

 private:
  static constexpr std::int64_t kShortRow = 128, kGathered = 2048;

  std::int64_t items_of(std::int64_t grain) const {
    return std::max<std::int64_t>(1, grain / std::min(length_, piece_));
  }

  /// The total of the first piece of a row for reduction i; those of the other pieces follow it.
  double& place(std::int64_t row, std::size_t i) {
    return totals_[(static_cast<std::size_t>(row) * folds_.size() + i) * static_cast<std::size_t>(pieces_)];
  }
  /// Stores the total of a piece of a row. If rows have one piece, the total is the result.
  void keep(std::size_t i, std::int64_t row, std::int64_t piece, double total) {
    if (pieces_ == 1) store(i, row, 1, &total);
    else (&place(row, i))[piece] = total;
  }
  void combine_pieces() {
    for (std::size_t i = 0; i < folds_.size() && pieces_ > 1; ++i)
      for (std::int64_t row = 0; row < rows_; ++row) {
        const FoldKernel& kernel = kernel_of(i);
        std::vector<double> pieces(static_cast<std::size_t>(pieces_));  // of the kernel's FoldType
        convert(DType::F64, &place(row, i), kernel.folded, pieces.data(), pieces_);
        fold_rows(i, fold_kernel(kernel.folded, combiner(fold_of(folds_[i].fn))), row, 1, pieces_, pieces.data());
      }
  }

  const FoldKernel& kernel_of(std::size_t i) const { return fold_kernel(types_[i], fold_of(folds_[i].fn)); }
  /// Computes some results of reduction i from rows of `length` numbers, which follow one another.
  void fold_rows(std::size_t i, const FoldKernel& kernel, std::int64_t row, std::int64_t rows, std::int64_t length,
                 const void* numbers) {
    double folded[kGathered], totals[kGathered];
    kernel.start(folded, rows);
    kernel.lines(numbers, rows, length, length, folded);
    convert(kernel.folded, folded, DType::F64, totals, rows);
    store(i, row, rows, totals);
  }

  /// Stores the results of reduction i from the totals of some rows, which it finishes in place.
  void store(std::size_t i, std::int64_t row, std::int64_t rows, double* totals) const {
    finish_fold(folds_[i].fn, length_, totals, rows);
    if (types_[i] == DType::F64) std::copy_n(totals, rows, results[i].as<double>() + row);
    else
      for (std::int64_t k = 0; k < rows; ++k) results[i].as<float>()[row + k] = kiln::convert<float>(totals[k]);
  }

  const SpareVector<op::Program::Fold>& folds_;
  SpareVector<DType> types_{};  // the type of the numbers that each reduction folds
  std::int64_t piece_ = limited_grain(ReducePlan::kPiece), rows_, length_, pieces_;
  SpareVector<double> totals_{};  // [rows, reductions, pieces]; empty if rows have one piece
};

}  // namespace kiln::cpu::simd
