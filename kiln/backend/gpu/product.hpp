// Product: products of matrices as a library of the device receives them.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kiln/core/dtype.hpp"

namespace kiln::gpu {

/// Describes c[i] = f(alpha a[i] b[i] + beta c[i] + bias) for `batch` matrices a [m, k], b [k, n] and c [m, n] of
/// `dtype`; halves are summed in float32.
struct Product {
  struct Matrix {
    const std::byte* data = nullptr;
    std::int64_t stride = 0;        // elements from row to row, or from column to column where transposed
    std::int64_t batch_stride = 0;  // elements from matrix to matrix; 0: one matrix for all
    bool transposed = false;        // column-major rather than row-major
  };
  enum class Function : std::uint8_t { None, Relu, GeluTanh };

  DType dtype = DType::F32;
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  Matrix a{}, b{};
  std::byte* c = nullptr;
  std::int64_t c_stride = 0, c_batch_stride = 0;
  DType c_dtype = DType::F32;  // dtype of a and b, or float32 for halves
  double alpha = 1, beta = 0;
  const std::byte* bias = nullptr;  // [n], of c's type, added to every row; or null
  Function function = Function::None;
};

}  // namespace kiln::gpu
