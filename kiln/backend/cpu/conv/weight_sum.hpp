// The gradient of a weight as a sum over parts of the images, which are distributed over the threads.
#pragma once
#include "kiln/backend/cpu/conv/geometry.hpp"
#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/pieces.hpp"
#include "kiln/core/function_ref.hpp"

namespace kiln::cpu::conv {

/// Some images, or some rows of y (the first axis) of one image. The division depends on the sizes alone, as the bits
/// of the sum do.
class WeightParts {
 public:
  /// `by_rows`: x and y are channels-last, so that rows of an image can be treated as images.
  WeightParts(const Geometry& g, bool by_rows);
  std::int64_t count() const { return divide_up(g_.batch, images_) * slabs_; }

  /// Returns part `i`, and where its parts of x and of y begin.
  Geometry part(std::int64_t i) const;
  Array x_of(const Array& x, std::int64_t i) const;
  Array y_of(const Array& y, std::int64_t i) const;

 private:
  std::int64_t image(std::int64_t i) const { return i / slabs_ * images_; }
  std::int64_t row(std::int64_t i) const { return i % slabs_ * rows_; }

  Geometry g_;
  std::int64_t images_, rows_, slabs_;  // of a part; the parts of an image, if there are several
};

/// Sets `weight` to the sum of what make(i, sums) computes for each part: the gradient of the weight, row-major in
/// float32.
void sum_of_parts(const WeightParts& parts, Value& weight, FunctionRef<void(std::int64_t i, float* sums)> make);

}  // namespace kiln::cpu::conv
