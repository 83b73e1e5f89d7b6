// Softmax, layer norm and cross entropy of floats and halves, computed in single precision, and layer norm of doubles.
// Each row is computed from beginning to end while it is in the cache.
#include "kiln/backend/cpu/simd/norm/norm.hpp"

#include <algorithm>
#include <vector>

#include "kiln/backend/cpu/simd/elementwise/through_float32.hpp"
#include "kiln/backend/cpu/simd/norm/float_rows.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/ops/loss/loss_ops.hpp"
#include "kiln/ops/norm/norm_ops.hpp"

namespace kiln::cpu::simd {
namespace {

constexpr std::int64_t kGrain = 8192;  // the minimum number of elements per thread

/// Calls some(begin, end) for ranges of rows, on several threads.
template <class F>
void some_rows(std::int64_t rows, std::int64_t length, F&& some) {
  parallel_for(rows, std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, length)), some);
}
/// Calls row(i) for i < rows.
template <class F>
void each_row(std::int64_t rows, std::int64_t length, F&& row) {
  some_rows(rows, length, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) row(i);
  });
}

/// Allocates the result in the memory of an operand if that is not read afterwards. This is safe, as each row is read
/// before it is written.
Array allocate_in_place(Call call, std::size_t operand) {
  take_memory(call.out[0], contiguous_strides(call.out[0].shape()), call, operand);
  return allocate(call.out[0]);
}

bool layer_norm_of_doubles(const op::LayerNorm&, Call call) {
  using op::LayerNorm;
  Value held[3];
  for (const auto slot : {LayerNorm::weight, LayerNorm::bias})
    if (call.in[slot].dtype() != DType::F64) return false;
  const auto doubles = [&](std::size_t slot, std::size_t k) {
    return read_contiguous(call.in[slot], held[k]).as<const double>();
  };
  const double *const x = doubles(LayerNorm::x, 0), *const weight = doubles(LayerNorm::weight, 1);
  const double* const bias = doubles(LayerNorm::bias, 2);
  const std::int64_t length = call.in[LayerNorm::weight].numel();
  const std::int64_t rows = length ? call.in[LayerNorm::x].numel() / length : 0;
  const auto epsilon = call.in[LayerNorm::epsilon].scalar().to<double>();
  auto* const z = allocate_in_place(call, LayerNorm::x).as<double>();
  each_row(rows, length,
           [&](std::int64_t i) { layer_norm_row(x + i * length, {weight, bias, epsilon}, z + i * length, length); });
  return true;
}

}  // namespace

bool run(const op::Softmax& op, Call call) {
  const Shape& shape = call.in[0].shape();
  if (!is_single_or_half(call.in[0].dtype()) || op.dim != shape.size() - 1) return false;
  Value held;
  const Array x = read_contiguous(call.in[0], held);
  const std::int64_t length = shape.back(), rows = length ? numel(shape) / length : 0;
  const FloatRows all(x, allocate_in_place(call, 0), length);
  some_rows(rows, length, [&](std::int64_t begin, std::int64_t end) {
    all.rows(begin, end,
             [&](const float* from, float* to, std::int64_t some) { softmax_rows(from, to, some, length, op.log); });
  });
  return true;
}

bool run(const op::LayerNorm& op, Call call) {
  using op::LayerNorm;
  if (call.in[LayerNorm::x].dtype() == DType::F64) return layer_norm_of_doubles(op, call);
  if (!is_single_or_half(call.in[LayerNorm::x].dtype())) return false;
  Value held[3], wide[2];
  // Every row reads weight and bias: convert them to single precision once.
  const auto floats = [&](std::size_t slot, std::size_t k) {
    const Value& given = call.in[slot];
    const bool single = given.dtype() == DType::F32;
    return read_contiguous(single ? given : wide[k] = widened(given), held[k]).as<const float>();
  };
  const float *const weight = floats(LayerNorm::weight, 0), *const bias = floats(LayerNorm::bias, 1);
  const Array x = read_contiguous(call.in[LayerNorm::x], held[2]);
  const std::int64_t length = call.in[LayerNorm::weight].numel(), rows = length ? x.numel() / length : 0;
  const auto epsilon = call.in[LayerNorm::epsilon].scalar().to<float>();
  const FloatRows all(x, allocate_in_place(call, LayerNorm::x), length);
  some_rows(rows, length, [&](std::int64_t begin, std::int64_t end) {
    all.rows(begin, end, [&](const float* from, float* to, std::int64_t some) {
      layer_norm_rows(from, {weight, bias, epsilon}, to, some, length);
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
  each_row(batch, classes, [&](std::int64_t i) {
    static thread_local std::vector<float> floats;  // a row of halves, converted
    const std::byte* row = logits.data + i * classes * size;
    if (dtype != DType::F32) {
      floats.resize(static_cast<std::size_t>(classes));
      convert(dtype, row, DType::F32, floats.data(), classes);
      row = reinterpret_cast<const std::byte*>(floats.data());
    }
    const auto* const numbers = reinterpret_cast<const float*>(row);
    const PowerSum sum = power_sum_of_row(numbers, classes);
    largest[i] = sum.largest, log_sum[i] = sum.log_sum;
    const float loss = sum.largest - numbers[targets[static_cast<std::size_t>(i)]] + sum.log_sum;
    convert(DType::F32, &loss, losses.dtype, losses.data + i * static_cast<std::int64_t>(size_of(losses.dtype)), 1);
  });
  return true;
}

}  // namespace kiln::cpu::simd
