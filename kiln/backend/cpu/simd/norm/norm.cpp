// Layer norm, group norm, batch norm and their gradients, each as a NormPlan. Floats and halves are computed in single
// precision. Each row is computed from beginning to end while it is in the cache.
#include <functional>

#include "kiln/backend/cpu/rows.hpp"
#include "kiln/backend/cpu/simd/elementwise/through_float32.hpp"
#include "kiln/backend/cpu/simd/norm/float_rows.hpp"
#include "kiln/backend/cpu/simd/norm/norm_columns.hpp"
#include "kiln/backend/cpu/simd/norm/norm_rows.hpp"
#include "kiln/ops/norm/channel_norm_ops.hpp"
#include "kiln/ops/norm/norm_ops.hpp"

namespace kiln::cpu::simd {
namespace {

using std::int64_t;

template <class Op>
double epsilon_of(Call call) {
  return call.in[Op::epsilon].scalar().template to<double>();
}
/// The elements of each channel of an image [batch, channels, ...].
int64_t inner_of(const Shape& shape) { return numel(Shape(shape.begin() + 2, shape.end())); }

template <class Op>
NormPlan group_plan(const Op& op, Call call) {
  const Shape& shape = call.in[Op::x].shape();
  const int64_t inner = inner_of(shape);
  return {.rows = shape[0] * op.groups,
          .length = shape[1] / op.groups * inner,
          .inner = inner,
          .kinds = op.groups,
          .epsilon = epsilon_of<Op>(call),
          .centred = op.centred};
}

/// A batch norm of x, and the strides in which its tensors are read and written: with channels last if x is stored so,
/// otherwise in row-major order.
struct BatchPlan {
  NormPlan norm;
  Dims strides;
};
BatchPlan batch_plan(const Array& x, double epsilon) {
  const int64_t batch = x.shape[0], channels = x.shape[1], inner = inner_of(x.shape);
  Dims last = contiguous_strides(x.shape);
  for (int i = 2; i < last.size(); ++i) last[i] *= channels;
  last[1] = 1;
  if (inner == 1 || (channels > 1 && has_strides(x, last)))
    return {{.rows = channels,
             .length = 1,
             .runs = batch * inner,
             .apart = channels,
             .kinds = channels,
             .epsilon = epsilon},
            last};
  return {{.rows = channels,
           .length = inner,
           .runs = batch,
           .apart = channels * inner,
           .inner = inner,
           .kinds = channels,
           .epsilon = epsilon},
          contiguous_strides(x.shape)};
}
/// Returns an operand in the order of `strides`: in place if it has them, otherwise copied; `held` keeps the copy.
Array in_order(const Value& value, const Dims& strides, Value& held) {
  const Array array = read(value);
  if (has_strides(array, strides)) return array;
  held = Value(make_ref<Node>(value.node()->desc, value.node()->device));
  const Array result = allocate(held, strides, MemoryUse::Scratch);
  copy(array, result);
  return result;
}

/// Computes z, and the rows' moments unless `moments` is null.
template <class T>
void forward(const NormPlan& plan, const Array& x, const Value& weight, const Value& bias, const Array& z,
             Moments* moments) {
  const NumbersOf<T> weights(weight, plan.kinds * plan.weights(), 1), biases(bias, plan.kinds * plan.weights(), 0);
  const auto run = [&](const NormPlan& rows, const T* from, T* to, int64_t begin, int64_t end) {
    normalise_rows(rows, {from, weights.data(), biases.data(), to, moments ? moments + begin : nullptr}, begin, end);
  };
  NormPlan copied = plan;  // the runs of a copied row follow one another
  if (plan.runs > 1) copied.length = copied.inner = plan.count(), copied.runs = 1;
  NormParts(plan.rows, plan.count()).each([&](int64_t, int64_t begin, int64_t end) {
    if constexpr (std::is_same_v<T, double>) {
      run(plan, x.as<double>() + begin * plan.length, z.as<double>() + begin * plan.length, begin, end);
    } else {
      const FloatRows rows(x, z, plan.length, plan.runs, plan.apart);
      rows.each(begin, end, [&](const float* from, float* to, int64_t first, int64_t count) {
        run(rows.are_copied() ? copied : plan, from, to, first, first + count);
      });
    }
  });
}
/// Does so in the type of x. Returns false for types and layouts that the kernels do not compute.
bool forward(const NormPlan& plan, const Array& x, const Value& weight, const Value& bias, const Array& z,
             Moments* moments = nullptr) {
  if (x.dtype == DType::F64) forward<double>(plan, x, weight, bias, z, moments);
  else forward<float>(plan, x, weight, bias, z, moments);
  return true;
}
bool is_computed(DType dtype) { return dtype == DType::F64 || is_single_or_half(dtype); }

/// Computes the gradient of a norm of rows; dweight and dbias have kinds * weights() numbers.
void backward(const NormPlan& plan, const NormBackward& call, float* dweight, float* dbias) {
  const NormParts parts(plan.rows, plan.count());
  const int64_t size = plan.kinds * plan.weights();
  // If each row has weights of its own, no other part adds to their gradients.
  const int64_t sums = plan.kinds == plan.rows ? 1 : parts.count();
  std::vector<float> partial(static_cast<std::size_t>(2 * sums * size));
  parts.each([&](int64_t part, int64_t begin, int64_t end) {
    NormBackward own = call;
    own.dweight = partial.data() + (sums == 1 ? 0 : part * size);
    own.dbias = own.dweight + sums * size;
    norm_gradient_rows(plan, own, begin, end);
  });
  const auto add = [&](const float* from, float* to) {
    for (int64_t i = 0; i < size; ++i) {
      double sum = 0;
      for (int64_t part = 0; part < sums; ++part) sum += from[part * size + i];
      to[i] = static_cast<float>(sum);
    }
  };
  add(partial.data(), dweight);
  add(partial.data() + sums * size, dbias);
}

}  // namespace

bool run(const op::LayerNorm&, Call call) {
  using op::LayerNorm;
  const Value &value = call.in[LayerNorm::x], &weight = call.in[LayerNorm::weight];
  if (!is_computed(value.dtype())) return false;
  Value held;
  const Array x = read_contiguous(value, held);
  const int64_t length = weight.numel();
  const NormPlan plan{
      .rows = length ? x.numel() / length : 0, .length = length, .epsilon = epsilon_of<LayerNorm>(call)};
  // The result may lie where x does, as each row is read before it is written.
  reuse_memory(call.out[0], contiguous_strides(x.shape), call, LayerNorm::x);
  return forward(plan, x, weight, call.in[LayerNorm::bias], allocate(call.out[0]));
}

bool run(const op::GroupNorm& op, Call call) {
  using op::GroupNorm;
  const NormPlan plan = group_plan(op, call);
  if (!is_computed(call.in[GroupNorm::x].dtype()) || !plan.fits()) return false;
  Value held;
  const Array x = read_contiguous(call.in[GroupNorm::x], held);
  return forward(plan, x, call.in[GroupNorm::weight], call.in[GroupNorm::bias], allocate(call.out[0]));
}

bool run(const op::GroupNormGrad& op, Call call) {
  using op::GroupNormGrad;
  const NormPlan plan = group_plan(op, call);
  if (call.in[GroupNormGrad::x].dtype() != DType::F32 || !plan.fits()) return false;
  const NumbersOf<float> x(call.in[GroupNormGrad::x]), g(call.in[GroupNormGrad::grad]),
      weight(call.in[GroupNormGrad::weight], plan.kinds * plan.weights(), 1);
  auto* const dx = allocate(call.out[0]).as<float>();
  backward(plan, {x.data(), g.data(), weight.data(), dx, nullptr, nullptr}, allocate(call.out[1]).as<float>(),
           allocate(call.out[2]).as<float>());
  return true;
}

bool run(const op::BatchNorm&, Call call) {
  using op::BatchNorm;
  const Value &value = call.in[BatchNorm::x], &weight = call.in[BatchNorm::weight], &bias = call.in[BatchNorm::bias];
  const auto [plan, strides] = batch_plan(read(value), epsilon_of<BatchNorm>(call));
  if (!is_computed(value.dtype()) || !plan.fits()) return false;
  if (plan.is_by_columns() && value.dtype() != DType::F32) return false;
  Value held;
  const Array x = in_order(value, strides, held), z = allocate(call.out[0], strides);
  const Array means = allocate(call.out[1]), variances = allocate(call.out[2]);
  if (plan.is_by_columns()) {
    const NumbersOf<float> weights(weight, plan.rows, 1), biases(bias, plan.rows, 0);
    normalise_columns(plan, x.as<float>(), weights.data(), biases.data(), z.as<float>(), means.as<float>(),
                      variances.as<float>());
    return true;
  }
  std::vector<Moments> moments(static_cast<std::size_t>(plan.rows));
  forward(plan, x, weight, bias, z, moments.data());
  std::vector<double> numbers(moments.size());
  const auto write = [&](double (Moments::*number)() const, const Array& to) {
    std::transform(moments.begin(), moments.end(), numbers.begin(), std::mem_fn(number));
    convert(DType::F64, numbers.data(), to.dtype, to.data, plan.rows);
  };
  write(&Moments::mean, means);
  write(&Moments::variance, variances);
  return true;
}

bool run(const op::BatchNormGrad&, Call call) {
  using op::BatchNormGrad;
  const Value& value = call.in[BatchNormGrad::x];
  const auto [plan, strides] = batch_plan(read(value), epsilon_of<BatchNormGrad>(call));
  if (value.dtype() != DType::F32 || !plan.fits()) return false;
  Value held[2];
  const auto* const x = in_order(value, strides, held[0]).as<const float>();
  const auto* const g = in_order(call.in[BatchNormGrad::grad], strides, held[1]).as<const float>();
  const NumbersOf<float> weight(call.in[BatchNormGrad::weight], plan.rows, 1), means(call.in[BatchNormGrad::mean]),
      variances(call.in[BatchNormGrad::variance]);
  auto* const dx = allocate(call.out[0], strides).as<float>();
  auto *const dweight = allocate(call.out[1]).as<float>(), *const dbias = allocate(call.out[2]).as<float>();
  if (plan.is_by_columns())
    norm_gradient_columns(plan, {x, g, weight.data(), means.data(), variances.data(), dx, dweight, dbias});
  else backward(plan, {x, g, weight.data(), dx, nullptr, nullptr, means.data(), variances.data()}, dweight, dbias);
  return true;
}

}  // namespace kiln::cpu::simd
