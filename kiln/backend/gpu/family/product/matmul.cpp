// op::Matmul: by the device's library, or by our own kernels.
#include <optional>

#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/product/product.hpp"
#include "kiln/ops/product/matmul_ops.hpp"

namespace kiln::gpu::family {
namespace {

/// Strides of an operand's matrices along the batch dimensions of the result.
Dims batch_strides(const Array& x, const Shape& batch) {
  const Shape own(x.shape.begin(), x.shape.end() - 2);
  return strided::broadcast_strides(own, Dims(x.strides.begin(), x.strides.end() - 2), batch);
}

/// A matrix as libraries describe it, with contiguous rows or contiguous columns. None if neither are contiguous.
std::optional<Product::Matrix> matrix(const std::byte* data, std::int64_t rows, std::int64_t columns, std::int64_t row,
                                      std::int64_t column, std::int64_t batch) {
  const bool transposed = column != 1 && columns > 1;
  if (transposed && row != 1 && rows > 1) return std::nullopt;
  return Product::Matrix{
      .data = data, .stride = transposed ? column : row, .batch_stride = batch, .transposed = transposed};
}

}  // namespace

// Libraries take batches of matrices at one distance; further batch dimensions are loops of calls here.
bool multiply_by_library(Gpu& gpu, const Matrices& p) {
  constexpr std::int64_t kMostCalls = 64;
  Library* const library = gpu.driver().library();
  if (!library) return false;
  const int rank = p.batch.sizes.size();
  const Shape outer(p.batch.sizes.begin(), p.batch.sizes.end() - (rank ? 1 : 0));
  const std::int64_t batch = rank ? p.batch.sizes.back() : 1, calls = numel(outer);
  if (calls > kMostCalls) return false;
  const auto inner = [&](const Dims& strides) { return rank ? strides.back() : 0; };
  const Dims &a = p.batch.strides[0], &b = p.batch.strides[1];
  const auto size = static_cast<std::int64_t>(size_of(p.dtype));
  for (std::int64_t call = 0; call < calls; ++call) {
    std::int64_t rest = call, a_at = 0, b_at = 0;
    for (int dim = outer.size(); dim-- > 0; rest /= outer[dim]) {
      a_at += rest % outer[dim] * a[dim];
      b_at += rest % outer[dim] * b[dim];
    }
    const auto left = matrix(p.a.data + a_at * size, p.m, p.k, p.a.line, p.a.depth, inner(a));
    const auto right = matrix(p.b.data + b_at * size, p.k, p.n, p.b.depth, p.b.line, inner(b));
    if (!left || !right) return false;
    const Product product{.dtype = p.dtype,
                          .batch = batch,
                          .m = p.m,
                          .n = p.n,
                          .k = p.k,
                          .a = *left,
                          .b = *right,
                          .c = p.c + call * batch * p.m * p.n * size,
                          .c_stride = p.n,
                          .c_batch_stride = p.m * p.n,
                          .c_dtype = p.dtype,
                          .bias = p.bias,
                          .function = p.function};
    // If the library knows the first product, it knows all.
    if (!library->multiply(product)) {
      KILN_CHECK(call == 0);
      return false;
    }
  }
  return true;
}

void matmul(Gpu& gpu, Matrices product) {
  if (product.m * product.n * numel(product.batch.sizes) == 0) return;
  join_batch(product);
  if (product.k == 0 || !multiply_by_library(gpu, product)) multiply(gpu, std::move(product));
}

Matrices matrices(const Array& a, const Array& b, const Array& c) {
  const Shape batch(c.shape.begin(), c.shape.end() - 2);
  const Dims strides[] = {batch_strides(a, batch), batch_strides(b, batch)};
  const int a_rank = a.shape.size(), b_rank = b.shape.size();
  return {.dtype = c.dtype,
          .m = c.shape[c.shape.size() - 2],
          .n = c.shape.back(),
          .k = a.shape.back(),
          .a = {a.data, a.strides[a_rank - 2], a.strides.back()},
          .b = {b.data, b.strides.back(), b.strides[b_rank - 2]},
          .batch = merged(batch, strides),
          .c = c.data};
}

bool run(Gpu& gpu, const op::Matmul&, Call call) {
  const Array a = read(call.in[0]), b = read(call.in[1]);
  matmul(gpu, matrices(a, b, gpu.allocate(call.out[0])));
  return true;
}

}  // namespace kiln::gpu::family
