// op::Matmul: by the device's library, or by our own kernels.
#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/product.hpp"
#include "kiln/ops/product/matmul_ops.hpp"

namespace kiln::gpu::family {
namespace {

/// Strides of an operand's matrices along the batch of the result.
Dims batch_strides(const Array& x, const Shape& batch) {
  const Shape own(x.shape.begin(), x.shape.end() - 2);
  return strided::broadcast_strides(own, Dims(x.strides.begin(), x.strides.end() - 2), batch);
}

/// Libraries know batches that lie one after the other at one distance; what loops over them is ours.
bool multiply_by_library(Gpu& gpu, const Matrices& p) {
  constexpr std::int64_t kMostCalls = 64;
  const int rank = p.batch.sizes.size();
  const Shape outer(p.batch.sizes.begin(), p.batch.sizes.end() - (rank ? 1 : 0));
  const std::int64_t batch = rank ? p.batch.sizes.back() : 1, calls = numel(outer);
  if (calls > kMostCalls) return false;
  const auto inner = [&](const Dims& strides) { return rank ? strides.back() : 0; };
  const Dims &a = p.batch.strides[0], &b = p.batch.strides[1];
  const auto size = static_cast<std::int64_t>(size_of(p.dtype));
  for (std::int64_t call = 0; call < calls; ++call) {
    std::int64_t left = call, a_at = 0, b_at = 0;
    for (int dim = outer.size(); dim-- > 0; left /= outer[dim]) {
      a_at += left % outer[dim] * a[dim];
      b_at += left % outer[dim] * b[dim];
    }
    const Product product{.dtype = p.dtype,
                          .batch = batch,
                          .m = p.m,
                          .n = p.n,
                          .k = p.k,
                          .a = p.a.data + a_at * size,
                          .b = p.b.data + b_at * size,
                          .c = p.c + call * batch * p.m * p.n * size,
                          .a_strides = {inner(a), p.a.line, p.a.depth},
                          .b_strides = {inner(b), p.b.depth, p.b.line}};
    // What it knows of one it knows of all.
    if (!gpu.driver().multiply(product)) {
      KILN_CHECK(call == 0);
      return false;
    }
  }
  return true;
}

}  // namespace

bool run(Gpu& gpu, const op::Matmul&, Call call) {
  const Array a = read(call.in[0]), b = read(call.in[1]), c = gpu.allocate(call.out[0]);
  const Shape batch(c.shape.begin(), c.shape.end() - 2);
  const Dims strides[] = {batch_strides(a, batch), batch_strides(b, batch)};
  const int a_rank = a.shape.size(), b_rank = b.shape.size();
  Matrices product{.dtype = c.dtype,
                   .m = c.shape[c.shape.size() - 2],
                   .n = c.shape.back(),
                   .k = a.shape.back(),
                   .a = {a.data, a.strides[a_rank - 2], a.strides.back()},
                   .b = {b.data, b.strides.back(), b.strides[b_rank - 2]},
                   .batch = merged(batch, strides),
                   .c = c.data};
  if (c.numel() == 0) return true;
  join_batch(product);
  if (product.k == 0 || !multiply_by_library(gpu, product)) multiply(gpu, product);
  return true;
}

}  // namespace kiln::gpu::family
