// Softmax and cross entropy of floats and halves, computed in single precision. Each row is computed from beginning to
// end while it is in the cache.
#include "kiln/backend/cpu/simd/norm/softmax.hpp"

#include <algorithm>
#include <vector>

#include "kiln/backend/cpu/simd/elementwise/through_float32.hpp"
#include "kiln/backend/cpu/simd/norm/float_rows.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/ops/loss/loss_ops.hpp"
#include "kiln/ops/norm/norm_ops.hpp"

namespace kiln::cpu::simd {
namespace {

/// Calls some(begin, end) for ranges of rows, on several threads.
template <class F>
void parallel_rows(std::int64_t rows, std::int64_t length, F&& some) {
  constexpr std::int64_t kGrain = 8192;  // the minimum number of elements per thread
  parallel_for(rows, std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, length)), some);
}

}  // namespace

bool run(const op::Softmax& op, Call call) {
  const Shape& shape = call.in[0].shape();
  if (!is_single_or_half(call.in[0].dtype()) || op.dim != shape.size() - 1) return false;
  Value held;
  const Array x = read_contiguous(call.in[0], held);
  const std::int64_t length = shape.back(), rows = length ? numel(shape) / length : 0;
  // The result may lie where x does, as each row is read before it is written.
  reuse_memory(call.out[0], contiguous_strides(shape), call, 0);
  const FloatRows all(x, allocate(call.out[0]), length);
  parallel_rows(rows, length, [&](std::int64_t begin, std::int64_t end) {
    all.each(begin, end, [&](const float* from, float* to, std::int64_t, std::int64_t some) {
      softmax_rows(from, to, some, length, op.log);
    });
  });
  return true;
}

bool run(const op::CrossEntropy&, Call call) {
  using op::CrossEntropy;
  const DType dtype = call.in[CrossEntropy::logits].dtype();
  if (!is_single_or_half(dtype)) return false;
  Value held[2];
  const Array logits = read_contiguous(call.in[CrossEntropy::logits], held[0]);
  const Array indices = read_contiguous(call.in[CrossEntropy::targets], held[1]);
  const std::int64_t batch = logits.shape[0], classes = logits.shape[1];
  std::vector<std::int64_t> targets(static_cast<std::size_t>(batch));
  convert(indices.dtype, indices.data, DType::I64, targets.data(), batch);
  for (const std::int64_t target : targets)
    require<IndexError>(target >= 0 && target < classes, "cross_entropy: target ", target, " is out of range for ",
                        classes, " classes");
  const Array losses = allocate(call.out[CrossEntropy::losses]);
  auto *const largest = allocate(call.out[CrossEntropy::largest]).as<float>(),
              *const log_sum = allocate(call.out[CrossEntropy::log_sum]).as<float>();
  const auto size = static_cast<std::int64_t>(size_of(dtype));
  parallel_rows(batch, classes, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      static thread_local std::vector<float> floats;  // a row of halves, converted
      const std::byte* row = logits.data + i * classes * size;
      if (dtype != DType::F32) {
        floats.resize(static_cast<std::size_t>(classes));
        convert(dtype, row, DType::F32, floats.data(), classes);
        row = reinterpret_cast<const std::byte*>(floats.data());
      }
      const auto* const numbers = reinterpret_cast<const float*>(row);
      const PowerSum sum = log_sum_exp_of_row(numbers, classes);
      largest[i] = sum.largest, log_sum[i] = sum.log_sum;
      const float loss = sum.largest - numbers[targets[static_cast<std::size_t>(i)]] + sum.log_sum;
      convert(DType::F32, &loss, losses.dtype, losses.data + i * static_cast<std::int64_t>(size_of(losses.dtype)), 1);
    }
  });
  return true;
}

}  // namespace kiln::cpu::simd
