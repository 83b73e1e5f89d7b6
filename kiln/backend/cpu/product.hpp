// Matrix products as their kernels see them: a batch of matrices in strided memory, with as few dimensions as possible.
#pragma once
#include "kiln/backend/cpu/kernel.hpp"

namespace kiln::cpu {

/// Returns the distance from the first element to element `index` of a shape, counted in row-major order.
std::int64_t offset_of(const Shape& shape, const Dims& strides, std::int64_t index);

/// The matrices of one array: the first, and the steps inside a matrix and to the next. One of `row` and `column` is 1.
struct Matrices {
  std::byte* data = nullptr;
  std::int64_t row = 0, column = 0;  // strides in elements
  Dims batch;                        // strides in elements; 0 where the array broadcasts

  bool by_rows() const { return column == 1; }
  std::int64_t leading() const { return by_rows() ? row : column; }
  /// Returns the distance in elements from the first matrix to matrix `index`, counted through a batch of that shape.
  std::int64_t offset(const Shape& shape, std::int64_t index) const { return offset_of(shape, batch, index); }
  /// Returns the batch's shape without dimensions along which the array broadcasts.
  Shape distinct(Shape shape) const {
    for (int i = 0; i < shape.size(); ++i)
      if (batch[i] == 0) shape[i] = 1;
    return shape;
  }
};

/// c[i] = a[i] b[i] for every index i of `batch`; a is m x k, b is k x n.
struct Product {
  DType dtype = DType::F32;
  std::int64_t m = 0, n = 0, k = 0;
  Shape batch;
  Matrices a = {}, b = {}, c = {};

  bool empty() const { return m == 0 || n == 0 || k == 0 || numel(batch) == 0; }
};

/// Returns the product that a call of op::Matmul asks for; both operands and the result have one element type. Gives
/// the result memory, unless `stored` is false, and fills it with zeros where the product is empty. `copies` keep
/// copied operands alive: those of which neither of the last two dimensions has stride 1.
Product product_of(Call call, Value (&copies)[2], bool stored = true);

}  // namespace kiln::cpu
