// The elementwise part of one time step of a recurrent layer, forward and backward.
#include <limits>

#include "kiln/backend/cpu/simd/recurrent/recurrent.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/recurrent/time_step.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include "kiln/backend/cpu/simd/vector_math.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {
namespace {

using std::int64_t;
template <class T>
constexpr auto kWidth = static_cast<int64_t>(kLanes<T>);

template <class T>
HWY_INLINE Vector<T> load(const T* from, int64_t count) {
  if (count >= kWidth<T>) return Vector<T>::load(from);
  T lanes[kLanes<T>] = {};
  std::copy_n(from, count, lanes);
  return Vector<T>::load(lanes);
}
template <class T>
HWY_INLINE void store(Vector<T> x, T* to, int64_t count) {
  if (count >= kWidth<T>) return store(x, to);
  T lanes[kLanes<T>];
  store(x, lanes);
  std::copy_n(lanes, count, to);
}

/// Calls body(i, left) for every vector of units from unit i on, of which `left` are still to come.
template <template <class> class Step, class T, class F>
HWY_INLINE void each_vector(const Step<T>& m, F&& body) {
  for (int64_t i = 0; i < m.count; i += kWidth<T>) body(i, m.count - i);
}

template <class T>
HWY_INLINE Vector<T> activate(GateActivation activation, Vector<T> x) {
  switch (activation) {
    case GateActivation::Sigmoid: return 1 / (1 + exp(-x));
    case GateActivation::Tanh: return tanh(x);
    case GateActivation::Relu: return max(x, Vector<T>(0));
    case GateActivation::HardSigmoid: return min(max(x / 6 + 0.5, Vector<T>(0)), Vector<T>(1));
    case GateActivation::Softsign: return x / (1 + abs(x));
    default: return x;
  }
}
/// The derivative of an activation, computed from the value y of the function.
template <class T>
HWY_INLINE Vector<T> slope(GateActivation activation, Vector<T> y) {
  const Vector<T> zero(0), one(1);
  switch (activation) {
    case GateActivation::Sigmoid: return y * (1 - y);
    case GateActivation::Tanh: return 1 - y * y;
    case GateActivation::Relu: return select(y > 0, one, zero);
    case GateActivation::HardSigmoid: return select((y > 0) & (y < 1), Vector<T>(1.0 / 6), zero);
    case GateActivation::Softsign: return (1 - abs(y)) * (1 - abs(y));
    default: return one;
  }
}

template <class T>
HWY_INLINE Vector<T> bounded(Vector<T> x, T clip) {
  return clip < std::numeric_limits<T>::infinity() ? clamp(x, -clip, clip) : x;
}
/// The gradient of x through bounded(x): `grad` where bounded() does not clip x, and 0 elsewhere.
template <class T>
HWY_INLINE Vector<T> within(Vector<T> x, T clip, Vector<T> grad) {
  return clip < std::numeric_limits<T>::infinity() ? select(abs(x) < clip, grad, Vector<T>(0)) : grad;
}

/// The argument of a gate's activation, without the bias of a candidate.
template <class T>
HWY_INLINE Vector<T> sum_of(const TimeStep<T>& m, int64_t gate, int64_t i, int64_t left) {
  return load(m.inputs + gate * m.width + i, left) + load(m.sums + gate * m.gate + i, left);
}

template <class T>
void lstm(const TimeStep<T>& m) {
  each_vector(m, [&](int64_t i, int64_t left) HWY_ATTR {
    const int64_t width = m.width;
    const Vector<T> in = activate(m.is.gate, sum_of(m, 0, i, left)),
                    forget = activate(m.is.gate, sum_of(m, 1, i, left)),
                    candidate = activate(m.is.candidate, sum_of(m, 2, i, left)),
                    out = activate(m.is.gate, sum_of(m, 3, i, left));
    const Vector<T> cell = bounded<T>(forget * load(m.cell + i, left) + in * candidate, m.clip);
    if (m.kept) {
      store(in, m.kept + i, left);
      store(forget, m.kept + width + i, left);
      store(candidate, m.kept + 2 * width + i, left);
      store(out, m.kept + 3 * width + i, left);
      store(cell, m.kept + 4 * width + i, left);
    }
    store(cell, m.cell + i, left);
    store(out * activate(m.is.output, cell), m.after + i, left);
  });
}

template <class T>
void rnn(const TimeStep<T>& m) {
  each_vector(m, [&](int64_t i, int64_t left) HWY_ATTR {
    const Vector<T> y = activate(m.is.candidate, sum_of(m, 0, i, left));
    store(y, m.kept + i, left);
    store(bounded<T>(y, m.clip), m.after + i, left);
  });
}

template <class T>
HWY_INLINE void finish_gru(const TimeStep<T>& m, int64_t i, int64_t left, Vector<T> update, Vector<T> candidate) {
  store(candidate, m.kept + 2 * m.width + i, left);
  store(bounded<T>(candidate + update * (load(m.before + i, left) - candidate), m.clip), m.after + i, left);
}

template <class T>
void gru(const TimeStep<T>& m) {
  each_vector(m, [&](int64_t i, int64_t left) HWY_ATTR {
    const Vector<T> reset = activate(m.is.gate, sum_of(m, 0, i, left)),
                    update = activate(m.is.gate, sum_of(m, 1, i, left));
    Vector<T> product = load(m.sums + 2 * m.gate + i, left);
    if (m.bias) product = product + load(m.bias + i, left);
    store(reset, m.kept + i, left);
    store(update, m.kept + m.width + i, left);
    store(product, m.kept + 3 * m.width + i, left);
    finish_gru(m, i, left, update, activate(m.is.candidate, load(m.inputs + 2 * m.width + i, left) + reset * product));
  });
}

template <class T>
void gru_gates(const TimeStep<T>& m) {
  each_vector(m, [&](int64_t i, int64_t left) HWY_ATTR {
    const Vector<T> reset = activate(m.is.gate, sum_of(m, 0, i, left));
    store(reset, m.kept + i, left);
    store(activate(m.is.gate, sum_of(m, 1, i, left)), m.kept + m.width + i, left);
    store(reset * load(m.before + i, left), m.after + i, left);
  });
}

template <class T>
void gru_candidate(const TimeStep<T>& m) {
  each_vector(m, [&](int64_t i, int64_t left) HWY_ATTR {
    const Vector<T> sum = load(m.inputs + 2 * m.width + i, left) + load(m.sums + i, left);
    finish_gru(m, i, left, load(m.kept + m.width + i, left), activate(m.is.candidate, sum));
  });
}

// ---- backward -------------------------------------------------------------------------------------------------------

template <class T>
HWY_INLINE void store_gate(const TimeStepGrad<T>& m, int64_t gate, int64_t i, int64_t left, Vector<T> grad) {
  store(grad, m.inputs + gate * m.width + i, left);
  store(grad, m.sums + gate * m.width + i, left);
}

template <class T>
void lstm_grad(const TimeStepGrad<T>& m) {
  each_vector(m, [&](int64_t i, int64_t left) HWY_ATTR {
    const int64_t width = m.width;
    const Vector<T> in = load(m.kept + i, left), forget = load(m.kept + width + i, left),
                    candidate = load(m.kept + 2 * width + i, left), out = load(m.kept + 3 * width + i, left),
                    cell = load(m.kept + 4 * width + i, left), squashed = activate(m.is.output, cell);
    const Vector<T> grad = load(m.grad + i, left);
    const Vector<T> dcell = within(cell, m.clip, load(m.cell + i, left) + grad * out * slope(m.is.output, squashed));
    store_gate(m, 0, i, left, dcell * candidate * slope(m.is.gate, in));
    store_gate(m, 1, i, left, dcell * load(m.before + i, left) * slope(m.is.gate, forget));
    store_gate(m, 2, i, left, dcell * in * slope(m.is.candidate, candidate));
    store_gate(m, 3, i, left, grad * squashed * slope(m.is.gate, out));
    store(dcell * forget, m.cell + i, left);
  });
}

template <class T>
void rnn_grad(const TimeStepGrad<T>& m) {
  each_vector(m, [&](int64_t i, int64_t left) HWY_ATTR {
    const Vector<T> y = load(m.kept + i, left);
    store_gate(m, 0, i, left, within(y, m.clip, load(m.grad + i, left)) * slope(m.is.candidate, y));
  });
}

/// Stores the gradients of the update gate z and of the candidate n, and returns the gradient of the argument of n,
/// from which that of the reset gate r follows.
template <class T>
HWY_INLINE Vector<T> update_and_candidate(const TimeStepGrad<T>& m, int64_t i, int64_t left) {
  const Vector<T> update = load(m.kept + m.width + i, left), candidate = load(m.kept + 2 * m.width + i, left),
                  difference = load(m.before + i, left) - candidate;
  const Vector<T> grad = within(candidate + update * difference, m.clip, load(m.grad + i, left));
  const Vector<T> sum = grad * (1 - update) * slope(m.is.candidate, candidate);
  store_gate(m, 1, i, left, grad * difference * slope(m.is.gate, update));
  store(sum, m.inputs + 2 * m.width + i, left);
  store(grad * update, m.direct + i, left);
  return sum;
}

template <class T>
void gru_grad(const TimeStepGrad<T>& m) {
  each_vector(m, [&](int64_t i, int64_t left) HWY_ATTR {
    const Vector<T> sum = update_and_candidate(m, i, left), reset = load(m.kept + i, left);
    store(sum * reset, m.sums + 2 * m.width + i, left);
    store_gate(m, 0, i, left, sum * load(m.kept + 3 * m.width + i, left) * slope(m.is.gate, reset));
  });
}

template <class T>
void gru_update_grad(const TimeStepGrad<T>& m) {
  each_vector(m, [&](int64_t i, int64_t left)
                     HWY_ATTR { store(update_and_candidate(m, i, left), m.sums + 2 * m.width + i, left); });
}

template <class T>
void gru_reset_grad(const TimeStepGrad<T>& m) {
  each_vector(m, [&](int64_t i, int64_t left) HWY_ATTR {
    const Vector<T> reset = load(m.kept + i, left), grad = load(m.grad + i, left);
    store_gate(m, 0, i, left, grad * load(m.before + i, left) * slope(m.is.gate, reset));
    store(load(m.direct + i, left) + grad * reset, m.direct + i, left);
  });
}

template <class T>
constexpr StepKernels<T> kStepKernels{lstm<T>,      rnn<T>,      gru<T>,      gru_gates<T>,       gru_candidate<T>,
                                      lstm_grad<T>, rnn_grad<T>, gru_grad<T>, gru_update_grad<T>, gru_reset_grad<T>};

}  // namespace

const StepKernels<float>& step_kernels_float() { return kStepKernels<float>; }
const StepKernels<double>& step_kernels_double() { return kStepKernels<double>; }

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(step_kernels_float);
HWY_EXPORT(step_kernels_double);
template <> const StepKernels<float>& step_kernels() { return HWY_DYNAMIC_DISPATCH(step_kernels_float)(); }
template <> const StepKernels<double>& step_kernels() { return HWY_DYNAMIC_DISPATCH(step_kernels_double)(); }

}  // namespace kiln::cpu::simd
#endif
