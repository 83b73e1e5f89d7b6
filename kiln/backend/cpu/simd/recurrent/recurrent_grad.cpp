// The backward pass of recurrent layers. The gradient of the state at a time step is the sum of three parts: the
// product of the next step's gate gradients with the weight, the part that bypasses this product, and the gradient of
// the output.
#include <cstring>

#include "kiln/backend/cpu/simd/recurrent/recurrent.hpp"
#include "kiln/backend/cpu/simd/simd.hpp"
#include "kiln/ops/sequence/recurrent_steps.hpp"

namespace kiln::cpu::simd {
namespace {

using std::int64_t;
using Grad = op::RecurrentLayerGrad;

template <class T>
class Back {
 public:
  Back(const Grad& op, Call call)
      : shape_(op.cell, call.in[Grad::weight], call.in[Grad::projection], call.in[Grad::lengths],
               call.in[Grad::grad].dim(0), call.in[Grad::grad].dim(1)),
        clip_(clip_of<T>(call.in[Grad::clip])),
        kept_(call.in[Grad::kept]),
        grads_(call.in[Grad::grad]) {
    const RecurrentShape& s = shape_;
    const Value& weight = call.in[Grad::weight];
    const int64_t sums = s.gates * s.hidden;
    weight_ = Panels<T>(weight, {0, 1, 0, sums, s.out, s.out, 1});
    if (s.resets_before()) second_weight_ = Panels<T>(weight, {2 * s.hidden * s.out, 1, 0, s.hidden, s.out, s.out, 1});
    if (s.projects) second_weight_ = Panels<T>(call.in[Grad::projection], {0, 1, 0, s.out, s.hidden, s.hidden, 1});
    for (StateRows<T>& each : sums_) each = StateRows<T>(s.batch, sums);
    direct_ = StateRows<T>(s.batch, s.out);
    grad_ = StateRows<T>(s.batch, s.out);
    if (s.two_phases()) second_grad_ = StateRows<T>(s.batch, s.hidden);
    if (const Value& before = call.in[Grad::before]) before_ = TimeMajorRows<T>(before);

    for (std::size_t i = 0; i < call.out.size(); ++i) results_[i] = allocate(call.out[i]).template as<T>();
    Value held, held_state;
    state_width_ = call.out[1].dim(1);
    state_ = read_contiguous(call.in[Grad::state], held_state).template as<T>();
    if (const Value& last = call.in[Grad::grad_last])
      std::copy_n(read_contiguous(last, held).template as<T>(), s.batch * state_width_, results_[1]);
    else std::fill_n(results_[1], s.batch * state_width_, T{0});
    for (int64_t row = 0; row < s.batch; ++row) std::copy_n(results_[1] + row * state_width_, s.out, direct_.row(row));

    // One more step computes the gradient of the initial state.
    const auto phase = [&](int index, int64_t step, Interval rows, Interval panels) {
      if (index == 0) first_phase(step, rows, panels);
      else if (step < s.time) second_phase(step, rows, panels);
    };
    const int64_t bytes = weight.numel() * static_cast<int64_t>(sizeof(T));
    if (s.two_phases()) each_time_step(s, bytes, s.time + 1, {weight_.panels(), second_weight_.panels()}, phase);
    else each_time_step(s, bytes, s.time + 1, {weight_.panels()}, phase);
    for (int64_t row = 0; row < s.batch; ++row) std::copy_n(direct_.row(row), s.out, results_[1] + row * state_width_);
  }

 private:
  int64_t time_step(int64_t step) const { return shape_.time_step(shape_.time - 1 - step); }

  /// The first phase: computes the gradient of the state after a time step, and all gradients that follow from it
  /// alone.
  void first_phase(int64_t step, Interval rows, Interval panels) const {
    const RecurrentShape& s = shape_;
    const int64_t panel = PanelPacker<T>::panel();
    const StateRows<T>&later = sums_[(step + 1) % 2], &sums = sums_[step % 2];
    const Interval depths{0, (s.resets_before() ? 2 : s.gates) * s.hidden};
    if (step > 0 && s.any_active(rows, time_step(step - 1)))
      weight_.multiply(later.row(rows.begin), later.step(), rows.size(), 0, panels, depths,
                       direct_.row(rows.begin) + panels.begin * panel, direct_.step(), true);
    if (step == s.time) return;
    const int64_t t = time_step(step);
    const Interval columns = columns_of<T>(panels, s.out);
    const auto bytes = static_cast<std::size_t>(columns.size()) * sizeof(T);
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      T *const direct = direct_.row(row) + columns.begin, *const grad = grad_.row(row) + columns.begin;
      T* const more = results_[2] ? results_[2] + (row * s.time + t) * s.out + columns.begin : nullptr;
      if (!s.active(row, t)) {
        if (more) std::memset(more, 0, bytes);
        if (!s.projects) store_zeros(sums, row, t, columns);
        continue;
      }
      const T* const of_output = grads_.at(row, t) + columns.begin;
      for (int64_t i = 0; i < columns.size(); ++i) grad[i] = direct[i] + of_output[i];
      std::memset(direct, 0, bytes);
      if (s.projects) {
        std::memcpy(more, grad, bytes);
        continue;
      }
      make(kernel(), sums, row, step, columns, grad);
      if (s.is.reset_after) std::memcpy(more, sums.row(row) + 2 * s.hidden + columns.begin, bytes);
    }
  }

  /// The second phase: computes the gradients that need another product first, of an LSTM with a projection and of a
  /// reset gate that scales the operand of the product.
  void second_phase(int64_t step, Interval rows, Interval panels) const {
    const RecurrentShape& s = shape_;
    const int64_t t = time_step(step), panel = PanelPacker<T>::panel();
    if (!s.any_active(rows, t) && s.resets_before()) return;
    const StateRows<T>& sums = sums_[step % 2];
    const T* const left = s.projects ? grad_.row(rows.begin) : sums.row(rows.begin) + 2 * s.hidden;
    second_weight_.multiply(left, s.projects ? grad_.step() : sums.step(), rows.size(), 0, panels,
                            {0, s.projects ? s.out : s.hidden}, second_grad_.row(rows.begin) + panels.begin * panel,
                            second_grad_.step(), false);
    const Interval columns = columns_of<T>(panels, s.hidden);
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      if (s.active(row, t))
        make(s.projects ? step_kernels_.lstm_grad : step_kernels_.gru_reset_grad, sums, row, step, columns,
             second_grad_.row(row) + columns.begin);
      else if (s.projects) store_zeros(sums, row, t, columns);
    }
  }

  using Kernel = void (*)(const TimeStepGrad<T>&);
  Kernel kernel() const {
    switch (shape_.is.kind) {
      case RecurrentKind::Lstm: return step_kernels_.lstm_grad;
      case RecurrentKind::Rnn: return step_kernels_.rnn_grad;
      default: return shape_.is.reset_after ? step_kernels_.gru_grad : step_kernels_.gru_update_grad;
    }
  }

  void make(Kernel kernel, const StateRows<T>& sums, int64_t row, int64_t step, Interval columns, const T* grad) const {
    const RecurrentShape& s = shape_;
    const int64_t t = time_step(step), i = columns.begin;
    const T* before = nullptr;
    T* cell = nullptr;
    if (s.is.kind == RecurrentKind::Lstm) {
      cell = results_[1] + row * state_width_ + s.out + i;
      before =
          step + 1 == s.time ? state_ + row * state_width_ + s.out : kept_.at(row, time_step(step + 1)) + 4 * s.hidden;
    } else if (s.is.kind == RecurrentKind::Gru) {
      before = before_.at(row, t);
    }
    kernel({s.is, s.hidden, columns.size(), clip_, kept_.at(row, t) + i, before ? before + i : nullptr, grad, cell,
            results_[0] + (row * s.time + t) * s.gates * s.hidden + i, sums.row(row) + i, direct_.row(row) + i});
  }

  /// Writes zero gradients of inputs and sums for a row that ends before time step t. The gradient of its state stays.
  void store_zeros(const StateRows<T>& sums, int64_t row, int64_t t, Interval columns) const {
    for (int64_t gate = 0; gate < shape_.gates; ++gate) {
      const int64_t at = gate * shape_.hidden + columns.begin;
      std::fill_n(results_[0] + (row * shape_.time + t) * shape_.gates * shape_.hidden + at, columns.size(), T{0});
      std::fill_n(sums.row(row) + at, columns.size(), T{0});
    }
  }

  const RecurrentShape shape_;
  const StepKernels<T>& step_kernels_ = step_kernels<T>();
  const T clip_;
  const TimeMajorRows<T> kept_, grads_;
  TimeMajorRows<T> before_;
  Panels<T> weight_, second_weight_;
  StateRows<T> sums_[2], direct_, grad_, second_grad_;
  const T* state_ = nullptr;
  int64_t state_width_ = 0;
  T* results_[3] = {};
};

}  // namespace

bool run(const op::RecurrentLayerGrad& op, Call call) {
  if (call.in[Grad::grad_kept]) return false;  // only second derivatives have it
  switch (call.in[Grad::weight].dtype()) {
    case DType::F32: Back<float>(op, call); return true;
    case DType::F64: Back<double>(op, call); return true;
    default: return false;
  }
}

}  // namespace kiln::cpu::simd
