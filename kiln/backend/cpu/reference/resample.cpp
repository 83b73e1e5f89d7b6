#include "kiln/ops/spatial/resample_ops.hpp"

#include "kiln/backend/cpu/lines.hpp"
#include "kiln/backend/cpu/reference/chunk.hpp"
#include "kiln/backend/cpu/reference/reference.hpp"

namespace kiln::cpu::reference {

template <>
void run(const op::Resample& op, Call call) {
  const Array x = read(call.in[0]);
  const Shape& shape = call.out[0].shape();
  visit_float(x.dtype, [&]<class C>(TypeTag<C>) {
    const RowMajor<C> data(x);
    Result<C> result(call.out[0]);
    if (kiln::numel(shape) == 0) return;
    const op::Resample::Taps taps = op.taps();
    const auto [outer, to, inner] = Lines(shape, op.dim);
    const std::int64_t size = x.shape[op.dim];
    for (std::int64_t n = 0; n < outer; ++n)
      for (std::int64_t o = 0; o < to; ++o) {
        const auto& row = taps.rows[static_cast<std::size_t>(o)];
        for (std::int64_t i = 0; i < inner; ++i) {
          double sum = 0;
          for (std::int64_t k = 0; k < row.count; ++k)
            sum += taps.weights[static_cast<std::size_t>(row.first + k)] *
                   static_cast<double>(data[(n * size + row.begin + k) * inner + i]);
          result[(n * to + o) * inner + i] = convert<C>(sum);
        }
      }
    result.store();
  });
}

}  // namespace kiln::cpu::reference
