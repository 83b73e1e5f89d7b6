#include <algorithm>

#include "kiln/backend/cpu/reference/chunk.hpp"
#include "kiln/backend/cpu/reference/reference.hpp"
#include "kiln/core/wrapping.hpp"
#include "kiln/ops/product/matmul_ops.hpp"

namespace kiln::cpu::reference {
namespace {

/// z [m, n] = a [m, k] x b [k, n]
template <class C>
void multiply(const C* a, const C* b, C* z, std::int64_t m, std::int64_t k, std::int64_t n) {
  constexpr std::int64_t kColumns = 256;
  Accumulator<C> sums[kColumns];
  for (std::int64_t begin = 0; begin < n; begin += kColumns) {
    const std::int64_t count = std::min(kColumns, n - begin);
    for (std::int64_t row = 0; row < m; ++row) {
      std::fill_n(sums, count, Accumulator<C>{0});
      for (std::int64_t inner = 0; inner < k; ++inner) {
        const Accumulator<C> factor = a[row * k + inner];
        const C* source = b + inner * n + begin;
        for (std::int64_t i = 0; i < count; ++i)
          sums[i] = wrapping_add(sums[i], wrapping_multiply(factor, static_cast<Accumulator<C>>(source[i])));
      }
      for (std::int64_t i = 0; i < count; ++i) z[row * n + begin + i] = convert<C>(sums[i]);
    }
  }
}

/// Returns the distance between the matrices of an operand, for each batch dimension of the result.
Dims batch_strides(const Shape& operand, const Shape& batch) {
  const Shape own(operand.begin(), operand.end() - 2);
  const std::int64_t matrix = operand[operand.size() - 2] * operand.back();
  Dims strides = contiguous_strides(own);
  for (auto& stride : strides) stride *= matrix;
  return broadcast_to(Array{.data = nullptr, .shape = own, .strides = strides}, batch).strides;
}

}  // namespace

template <>
void run(const op::Matmul&, Call call) {
  const Array a = read(call.in[0]), b = read(call.in[1]);
  const Shape &shape = call.out[0].shape(), batch(shape.begin(), shape.end() - 2);
  const std::int64_t m = shape[shape.size() - 2], k = a.shape.back(), n = shape.back();
  const Rows<3> matrices(batch,
                         {batch_strides(shape, batch), batch_strides(a.shape, batch), batch_strides(b.shape, batch)});
  visit_compute(a.dtype, [&]<class C>(TypeTag<C>) {
    const RowMajor<C> left(a), right(b);
    Result<C> result(call.out[0]);
    const auto& steps = matrices.steps();
    matrices.each([&](const auto& at) {
      for (std::int64_t i = 0; i < matrices.length(); ++i)
        multiply(left.data() + at[1] + i * steps[1], right.data() + at[2] + i * steps[2],
                 result.data() + at[0] + i * steps[0], m, k, n);
    });
    result.store();
  });
}

}  // namespace kiln::cpu::reference
