// The forward pass of recurrent layers. Each time step multiplies the state by the weight, some panels at a time, and
// then applies the gates to these products while they are in the cache.
#include "kiln/backend/cpu/simd/recurrent/recurrent.hpp"

#include <cstring>

#include "kiln/backend/cpu/simd/simd.hpp"
#include "kiln/ops/sequence/recurrent_steps.hpp"

namespace kiln::cpu::simd {
namespace {

using op::RecurrentLayer;
using std::int64_t;

template <class T>
class Forward {
 public:
  Forward(const RecurrentLayer& op, Call call)
      : shape_(op.cell, call.in[RecurrentLayer::weight], call.in[RecurrentLayer::projection],
               call.in[RecurrentLayer::lengths], call.in[RecurrentLayer::inputs].dim(0),
               call.in[RecurrentLayer::inputs].dim(1)),
        clip_(clip_of<T>(call.in[RecurrentLayer::clip])),
        inputs_(call.in[RecurrentLayer::inputs]) {
    const RecurrentShape& s = shape_;
    const Value& weight = call.in[RecurrentLayer::weight];
    const int64_t split = s.resets_before() ? 2 : s.gates;
    weight_ = Panels<T>(weight, {0, split, s.hidden * s.out, s.out, s.hidden, 1, s.out});
    if (s.resets_before()) second_weight_ = Panels<T>(weight, {2 * s.hidden * s.out, 1, 0, s.out, s.hidden, 1, s.out});
    if (s.projects)
      second_weight_ = Panels<T>(call.in[RecurrentLayer::projection], {0, 1, 0, s.hidden, s.out, 1, s.hidden});
    const int64_t panel = PanelPacker<T>::panel();
    gate_ = weight_.panels() * panel;
    sums_ = StateRows<T>(s.batch, std::max(split * gate_, second_weight_.panels() * panel));
    for (StateRows<T>& state : states_) state = StateRows<T>(s.batch, s.out);
    if (shape_.two_phases()) first_phase_ = StateRows<T>(s.batch, s.hidden);
    if (const Value& bias = call.in[RecurrentLayer::candidate_bias])
      bias_ = read_contiguous(bias, held_bias_).template as<T>();

    for (std::size_t i = 0; i < call.out.size(); ++i) results_[i] = allocate(call.out[i]).template as<T>();
    kept_width_ = op::kept_of(s.is) * s.hidden;
    if (!op.keeps) kept_scratch_ = StateRows<T>(s.batch, kept_width_);
    Value held;
    const Array state = read_contiguous(call.in[RecurrentLayer::state], held);
    const int64_t width = state.shape[1];
    T* const last = results_[RecurrentLayer::last];
    std::copy_n(state.as<T>(), s.batch * width, last);  // the cell of an LSTM is updated there in place
    for (int64_t row = 0; row < s.batch; ++row) std::copy_n(state.as<T>() + row * width, s.out, states_[0].row(row));

    const auto phase = [&](int index, int64_t step, Interval rows, Interval panels) { run(index, step, rows, panels); };
    const int64_t bytes = weight.numel() * static_cast<int64_t>(sizeof(T));
    if (shape_.two_phases()) each_time_step(s, bytes, s.time, {weight_.panels(), second_weight_.panels()}, phase);
    else each_time_step(s, bytes, s.time, {weight_.panels()}, phase);
    for (int64_t row = 0; row < s.batch; ++row) std::copy_n(states_[s.time % 2].row(row), s.out, last + row * width);
  }

 private:
  void run(int phase, int64_t step, Interval rows, Interval panels) const {
    const RecurrentShape& s = shape_;
    const int64_t t = s.time_step(step), panel = PanelPacker<T>::panel();
    const StateRows<T>& before = states_[step % 2];
    if (s.any_active(rows, t)) {
      const Panels<T>& weight = phase == 0 ? weight_ : second_weight_;
      const StateRows<T>& left = phase == 0 ? before : first_phase_;
      const int64_t depth = phase == 1 && s.projects ? s.hidden : s.out;
      for (int64_t block = 0; block < weight.blocks(); ++block)
        weight.multiply(left.row(rows.begin), left.step(), rows.size(), block, panels, {0, depth},
                        sums_.row(rows.begin) + block * gate_ + panels.begin * panel, sums_.step(), false);
    }
    const bool ends = phase == 1 || !shape_.two_phases(), projected = phase == 1 && s.projects;
    const Interval columns = columns_of<T>(panels, projected ? s.out : s.hidden);
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      const T* const old = before.row(row) + columns.begin;
      T* const after = states_[(step + 1) % 2].row(row) + columns.begin;
      T* const output = results_[RecurrentLayer::outputs] + (row * s.time + t) * s.out + columns.begin;
      const auto bytes = static_cast<std::size_t>(columns.size()) * sizeof(T);
      if (s.active(row, t)) {
        if (projected) std::memcpy(after, sums_.row(row) + columns.begin, bytes);
        else make(phase, row, t, columns, old, ends ? after : first_phase_.row(row) + columns.begin);
        if (ends) std::memcpy(output, after, bytes);
      } else {
        if (!projected) keep_zeros(row, t, columns);
        if (ends) std::memcpy(after, old, bytes), std::memset(output, 0, bytes);
      }
    }
  }

  T* cell(int64_t row) const {
    return results_[RecurrentLayer::last] + row * (shape_.out + shape_.hidden) + shape_.out;
  }
  T* kept(int64_t row, int64_t t) const {
    T* const all = results_[RecurrentLayer::kept];
    return all ? all + (row * shape_.time + t) * kept_width_ : kept_scratch_.row(row);
  }

  void make(int phase, int64_t row, int64_t t, Interval columns, const T* before, T* after) const {
    const int64_t i = columns.begin;
    const bool lstm = shape_.is.kind == RecurrentKind::Lstm;
    const TimeStep<T> time_step{shape_.is,
                                shape_.hidden,
                                gate_,
                                columns.size(),
                                clip_,
                                inputs_.at(row, t) + i,
                                sums_.row(row) + i,
                                bias_ ? bias_ + i : nullptr,
                                before,
                                lstm ? cell(row) + i : nullptr,
                                lstm && !results_[RecurrentLayer::kept] ? nullptr : kept(row, t) + i,
                                after};
    switch (shape_.is.kind) {
      case RecurrentKind::Lstm: return step_kernels_.lstm(time_step);
      case RecurrentKind::Rnn: return step_kernels_.rnn(time_step);
      default: break;
    }
    if (shape_.is.reset_after) step_kernels_.gru(time_step);
    else (phase == 0 ? step_kernels_.gru_gates : step_kernels_.gru_candidate)(time_step);
  }

  /// Writes what is kept of time step t for a row that ends before it: zeros, and the unchanged cell.
  void keep_zeros(int64_t row, int64_t t, Interval columns) const {
    const int64_t width = shape_.hidden, count = kept_width_ / std::max<int64_t>(width, 1);
    for (int64_t part = 0; part < count; ++part)
      std::fill_n(kept(row, t) + part * width + columns.begin, columns.size(), T{0});
    if (shape_.is.kind == RecurrentKind::Lstm)
      std::copy_n(cell(row) + columns.begin, columns.size(), kept(row, t) + 4 * width + columns.begin);
  }

  const RecurrentShape shape_;
  const StepKernels<T>& step_kernels_ = step_kernels<T>();
  const T clip_;
  const TimeMajorRows<T> inputs_;
  Panels<T> weight_, second_weight_;  // of the second phase: a projection, or the candidate of a GRU that resets before
  StateRows<T> sums_, states_[2], first_phase_, kept_scratch_;
  const T* bias_ = nullptr;
  Value held_bias_;
  int64_t gate_ = 0, kept_width_ = 0;
  T* results_[3] = {};
};

}  // namespace

bool run(const op::RecurrentLayer& op, Call call) {
  switch (call.in[RecurrentLayer::weight].dtype()) {
    case DType::F32: Forward<float>(op, call); return true;
    case DType::F64: Forward<double>(op, call); return true;
    default: return false;
  }
}

}  // namespace kiln::cpu::simd
