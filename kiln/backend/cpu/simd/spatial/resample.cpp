// Resizes one dimension in single precision, of row-major or channels-last tensors.
#include "kiln/ops/spatial/resample_ops.hpp"

#include <algorithm>
#include <limits>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/memory_order.hpp"
#include "kiln/backend/cpu/simd/spatial/resample_lines.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::simd {
namespace {

constexpr std::int64_t kGrain = 16384;    // the minimum number of elements per thread
constexpr std::int64_t kLeastInner = 16;  // so many neighbours fill a vector

}  // namespace

bool run(const op::Resample& op, Call call) {
  if (call.in[0].dtype() != DType::F32 || call.out[0].numel() == 0) return false;
  const Shape &from = call.in[0].shape(), &shape = call.out[0].shape();
  const bool last = from.size() >= 3 && from[1] > 1 && has_strides(read(call.in[0]), channels_last_strides(from));
  const Dims strides = last ? channels_last_strides(from) : contiguous_strides(from);
  std::int64_t inner = 1;
  for (int i = op.dim + 1; i < from.size(); ++i) inner *= from[i];
  if (last && op.dim > 1) inner *= from[1];
  if (last && op.dim == 1) inner = 1;
  const std::int64_t size = from[op.dim], to = shape[op.dim], outer = numel(from) / (size * inner);
  if (size * inner > std::numeric_limits<std::int32_t>::max()) return false;

  Value held;
  const auto* x = read_in(call.in[0], strides, held).as<float>();
  auto* z = allocate(call.out[0], last ? channels_last_strides(shape) : contiguous_strides(shape)).as<float>();
  const op::Resample::Taps map = op.taps();
  if (inner < kLeastInner) {
    const LineTable table(map, size, inner);
    const std::int64_t work = std::max(table.results, size * inner);
    parallel_for(outer, std::max<std::int64_t>(1, kGrain / work), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t n = begin; n < end; ++n) gather_line(table, x + n * size * inner, z + n * to * inner);
    });
    return true;
  }
  const std::vector<float> weights(map.weights.begin(), map.weights.end());
  parallel_for(outer * to, std::max<std::int64_t>(1, kGrain / inner), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto& row = map.rows[static_cast<std::size_t>(i % to)];
      add_lines({weights.data() + row.first, row.begin, row.count}, x + i / to * size * inner, inner, z + i * inner);
    }
  });
  return true;
}

}  // namespace kiln::cpu::simd
