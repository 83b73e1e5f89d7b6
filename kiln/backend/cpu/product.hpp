// Matrix products as every kernel for them sees one: a batch of matrices in strided memory, no dimension more than needed.
#pragma once
#include "kiln/backend/cpu/kernel.hpp"

namespace kiln::cpu {

/// The matrices of one array: the first, and how to step inside one and to the next. One of `row` and `column` is 1.
struct Matrices {
  std::byte* data = nullptr;
  std::int64_t row = 0, column = 0;  // strides in elements
  Dims batch;                        // likewise; 0 where the array broadcasts

  bool by_rows() const { return column == 1; }
  std::int64_t leading() const { return by_rows() ? row : column; }
  /// Elements from the first matrix to matrix `index` of a batch of that shape, counted through.
  std::int64_t offset(const Shape& batch_shape, std::int64_t index) const;
};

/// c[i] = a[i] b[i] for every index i of `batch`; a is m x k, b is k x n.
struct Product {
  DType dtype = DType::F32;
  std::int64_t m = 0, n = 0, k = 0;
  Shape batch;
  Matrices a = {}, b = {}, c = {};

  bool empty() const { return m == 0 || n == 0 || k == 0 || numel(batch) == 0; }
};

/// The product that a call of op::Matmul asks for; both operands and the result have one element type. Gives the result
/// memory, unless `stored` is false, and fills it with zeros where the product is empty. `copies` keep operands alive that cannot be read where
/// they lie: those where neither of the last two dimensions has stride 1.
Product product_of(Call call, Value (&copies)[2], bool stored = true);

}  // namespace kiln::cpu
