// The gradient of a weight as a sum over parts of the images, which are shared out to the threads.
#pragma once
#include "kiln/backend/cpu/conv/geometry.hpp"
#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/pieces.hpp"
#include "kiln/core/function_ref.hpp"

namespace kiln::cpu::conv {

/// Some images, or some rows of y (the first axis) of one. How they are cut depends on the sizes alone, as a sum's bits do.
class WeightParts {
 public:
  /// `by_rows`: x and y lie channels-last, so that rows of an image are images too.
  WeightParts(const Geometry& g, bool by_rows);
  std::int64_t count() const { return divide_up(g_.batch, images_) * slabs_; }

  /// Part `i`, and where its part of x and of y begins.
  Geometry part(std::int64_t i) const;
  Array x_of(const Array& x, std::int64_t i) const;
  Array y_of(const Array& y, std::int64_t i) const;

 private:
  std::int64_t image(std::int64_t i) const { return i / slabs_ * images_; }
  std::int64_t row(std::int64_t i) const { return i % slabs_ * rows_; }

  Geometry g_;
  std::int64_t images_, rows_, slabs_;  // of a part; parts of an image, where that is one of several
};

/// Gives `weight` the sum of what make(i, sums) makes of each part: the gradient of the weight for these, row-major in
/// float32.
void sum_of_parts(const WeightParts& parts, Value& weight, FunctionRef<void(std::int64_t i, float* sums)> make);

}  // namespace kiln::cpu::conv
