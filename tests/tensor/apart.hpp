// How far matrices are apart, and what they are made of in tests of linear algebra.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kiln/tensor/create.hpp"
#include "kiln/tensor/tensor.hpp"
#include "tests/support/devices.hpp"

namespace kiln::test {

/// The largest difference between two tensors, or 0 for empty ones.
template <int D>
double apart(const Tensor<D>& x, const Tensor<D>& y) {
  EXPECT_EQ(x.shape(), y.shape());
  double largest = 0;
  const auto a = x.template to_vector<double>(), b = y.template to_vector<double>();
  for (std::size_t i = 0; i < a.size(); ++i)
    largest = std::isnan(a[i] - b[i]) ? NAN : std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

/// [batch, size, size] with orthonormal columns times `scale` is what its transpose inverts.
template <int D>
double from_orthonormal(const Tensor<D>& q) {
  const auto product = q.transpose().matmul(q);
  return apart(product, eye(q.dim(-1), q.device(), q.dtype()).template expand<D>(product.shape()));
}

/// A square matrix of float64.
inline Tensor<2> of_rows(std::vector<double> elements, std::int64_t rows) {
  return Tensor<2>::of(elements, Shape{rows, rows}, autodiff);
}

}  // namespace kiln::test
