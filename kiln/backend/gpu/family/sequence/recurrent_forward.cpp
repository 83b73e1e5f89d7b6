// op::RecurrentLayer: at each time step a block multiplies the state of its rows, which all blocks of these rows
// computed, by the weights of its units' gates, and computes the next state of its units.
#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/sequence/recurrent.hpp"
#include "kiln/ops/sequence/recurrent_steps.hpp"

namespace kiln::gpu::family {
namespace {

struct RecurrentKernel {
  RecurrentShape shape;
  bool has_bias, keeps;

  Kernel kernel() const;
};

/// The time steps of a layer, as a thread goes through them.
class TimeSteps {
 public:
  TimeSteps(Builder& k, const RecurrentKernel& source)
      : shape_(source.shape),
        dtype_(shape_.dtype),
        keeps_(source.keeps),
        lstm_(shape_.cell.kind == RecurrentKind::Lstm),
        k_(k),
        inputs_(k.input(dtype_)),
        weight_(k.input(dtype_)),
        first_(k.input(dtype_)),
        exchange_(k.both(dtype_)),
        outputs_(k.output(dtype_)),
        last_(k.output(dtype_)) {
    if (keeps_) kept_ = k.output(dtype_);
    if (source.has_bias) bias_ = k.input(dtype_);
    if (shape_.has_lengths) lengths_ = k.input(shape_.lengths);
    batch_ = k.number(DType::I64);
    time_ = k.number(DType::I32);
    if (shape_.has_clip) clip_ = k.number(dtype_);
    cells_ = k.both(DType::I32);
    place_.emplace(k, shape_, batch_, k.number(DType::I32));
  }

  void run() {
    const int gates = shape_.gates(), columns = shape_.columns(), depth = shape_.depth();
    const Shared weights = k_.shared(dtype_, std::int64_t{depth} * columns);
    const Shared states = k_.shared(dtype_, std::int64_t{depth} * shape_.row_stride());
    const Shared parts = k_.shared(dtype_, std::int64_t{RecurrentShape::kWarps} * shape_.rows * part_stride());
    load_weights(weights);

    const Expr zero = k_.literal(dtype_, 0), none = k_.literal(DType::I32, 0), one = k_.literal(DType::I32, 1);
    const Local hidden = k_.variable(zero), cell = k_.variable(zero);
    const Local bias = k_.variable(zero), sums = k_.local(dtype_, gates);
    const Local length = k_.variable(k_.literal(DType::I64, 0));
    k_.when(place_->valid, [&] {
      hidden.set(first_[state_at(place_->row, place_->unit)]);
      if (lstm_) cell.set(first_[state_at(place_->row, place_->unit + shape_.hidden)]);
      if (bias_) bias.set((*bias_)[place_->unit]);
      if (lengths_) length.set((*lengths_)[place_->row].as(DType::I64));
    });
    for (int g = 0; g < gates; ++g) sums.set(g, zero);
    const StepResult made{k_.variable(zero), k_.local(dtype_, op::kept_of(shape_.cell))};

    const RecurrentProduct product(k_, shape_, columns, shape_.column_lanes(), k_.lane() % shape_.column_lanes());
    const int slice = depth / RecurrentShape::kWarps;
    load_inputs(sums, none);
    k_.loop(none, time_, one, [&](const Expr& step) {
      k_.when(
          step == 0, [&] { load_states(states, first_, k_.literal(DType::I64, 0), state_width()); },
          [&] { load_states(states, exchange_, exchange_at(step), shape_.hidden); });
      k_.barrier();
      product.run(states, weights, k_.warp() * slice, slice);
      product.each([&](const Expr& row, const Expr& column, const Exprs& values) {
        parts.store((k_.warp() * shape_.rows + row) * part_stride() + column, values);
      });
      k_.barrier();
      k_.when(place_->valid, [&] {
        Exprs of_state;
        for (int g = 0; g < gates; ++g) {
          Expr sum = part(parts, 0, g);
          for (int warp = 1; warp < RecurrentShape::kWarps; ++warp) sum = sum + part(parts, warp, g);
          of_state.push_back(sum);
        }
        make(time_step_of(step), of_state, sums, bias, length, hidden, cell, made);
        exchange_.store(exchange_at(step + 1) + place_->row * shape_.hidden + place_->unit, hidden.get());
      });
      // The other blocks need nothing but the state.
      const Expr more = step + 1 < time_, meeting = place_->tile * kCellsApart;
      k_.when(more, [&] { k_.arrive(*cells_, meeting); });
      store(made, step);
      k_.when(more, [&] {
        load_inputs(sums, step + 1);
        k_.await(*cells_, meeting, (step + 1) * shape_.groups());
      });
    });
    k_.when(place_->valid, [&] {
      last_.store(state_at(place_->row, place_->unit), hidden.get());
      if (lstm_) last_.store(state_at(place_->row, place_->unit + shape_.hidden), cell.get());
    });
  }

 private:
  /// The results of a time step.
  struct StepResult {
    Local output, kept;
  };
  Expr time_step_of(const Expr& step) const { return shape_.cell.reverse ? time_ - 1 - step : step; }
  Expr time_at(const Expr& step) const {
    return place_->row * time_.as(DType::I64) + time_step_of(step).as(DType::I64);
  }
  void load_inputs(const Local& sums, const Expr& step) {
    const int gates = shape_.gates();
    k_.when(place_->valid, [&] {
      const Expr first = time_at(step) * (gates * shape_.hidden) + place_->unit;
      for (int g = 0; g < gates; ++g) sums.set(g, inputs_[first + g * shape_.hidden]);
    });
  }
  void store(const StepResult& made, const Expr& step) {
    k_.when(place_->valid, [&] {
      const Expr at = time_at(step);
      outputs_.store(at * shape_.hidden + place_->unit, made.output.get());
      const int count = static_cast<int>(op::kept_of(shape_.cell));
      for (int i = 0; keeps_ && i < count; ++i)
        kept_->store(at * (count * shape_.hidden) + i * shape_.hidden + place_->unit, made.kept[i]);
    });
  }
  int state_width() const { return (lstm_ ? 2 : 1) * shape_.hidden; }
  /// The offset in the states before the first and after the last time step.
  Expr state_at(const Expr& row, const Expr& unit) const { return row * state_width() + unit; }
  /// The state before a step is in one of two buffers: other blocks may still read the previous one.
  Expr exchange_at(const Expr& step) const { return (step % 2).as(DType::I64) * (batch_ * shape_.hidden); }
  /// Padding, so that two rows begin in different banks.
  int part_stride() const { return shape_.columns() + 16; }
  Expr part(const Shared& parts, int warp, int gate) const {
    return parts[(place_->row_in_tile + warp * shape_.rows) * part_stride() + gate * shape_.units +
                 place_->unit_in_group];
  }

  /// weights[depth][gate, unit]
  void load_weights(const Shared& weights) {
    const int columns = shape_.columns(), hidden = shape_.hidden, width = shape_.width();
    const auto unit_of = [&](const Expr& column) { return place_->group * shape_.units + column % shape_.units; };
    SharedCopy{dtype_, columns, shape_.depth(), width}.run(
        k_, [&](const Expr& column, const Expr& depth) { return (unit_of(column) < hidden) & (depth < hidden); },
        [&](const Expr& column, const Expr& depth) {
          const Expr row = (column / shape_.units * hidden + unit_of(column)).as(DType::I64);
          return weight_.load(row * hidden + depth.as(DType::I64), width);
        },
        [&](const Expr& column, const Expr& depth, const Exprs& values) {
          for (int i = 0; i < width; ++i)
            weights.store((depth + i) * columns + column, values[static_cast<std::size_t>(i)]);
        });
  }

  /// Loads states[depth][row] from rows of `stride`.
  void load_states(const Shared& states, const Buffer& from, const Expr& start, int stride) {
    const int width = shape_.width();
    const auto row_of = [&](const Expr& row) { return (place_->tile * shape_.rows + row).as(DType::I64); };
    SharedCopy{dtype_, shape_.rows, shape_.depth(), width}.run(
        k_, [&](const Expr& row, const Expr& depth) { return (row_of(row) < batch_) & (depth < shape_.hidden); },
        [&](const Expr& row, const Expr& depth) {
          return from.load(start + row_of(row) * stride + depth.as(DType::I64), width);
        },
        [&](const Expr& row, const Expr& depth, const Exprs& values) {
          for (int i = 0; i < width; ++i)
            states.store((depth + i) * shape_.row_stride() + row, values[static_cast<std::size_t>(i)]);
        });
  }

  /// Computes the state after a time step, and what is kept of it for the gradient. `of_state` is the product of the
  /// weights and the previous state.
  void make(const Expr& time_step, const Exprs& of_state, const Local& inputs, const Local& bias, const Local& length,
            const Local& hidden, const Local& cell, const StepResult& to) {
    const RecurrentCell& is = shape_.cell;
    const auto function = [&](GateActivation activation, const Expr& x) { return activate(k_, activation, dtype_, x); };
    const auto sum = [&](int gate) { return inputs[gate] + of_state[static_cast<std::size_t>(gate)]; };
    Expr made, made_cell;
    Exprs kept;
    if (is.kind == RecurrentKind::Lstm) {
      const Expr i = function(is.gate, sum(0)), f = function(is.gate, sum(1)), g = function(is.candidate, sum(2)),
                 o = function(is.gate, sum(3));
      made_cell = bounded(f * cell.get() + i * g, clip_);
      made = o * function(is.output, made_cell);
      kept = {i, f, g, o};
    } else if (is.kind == RecurrentKind::Gru) {
      const Expr r = function(is.gate, sum(0)), z = function(is.gate, sum(1)), of_candidate = of_state[2] + bias.get();
      const Expr n = function(is.candidate, inputs[2] + r * of_candidate);
      made = bounded(n + z * (hidden.get() - n), clip_);
      kept = {r, z, n, of_candidate};
    } else {
      const Expr y = function(is.candidate, sum(0));
      made = bounded(y, clip_);
      kept = {y};
    }
    const Expr zero = k_.literal(dtype_, 0);
    const Expr active = lengths_ ? time_step.as(DType::I64) < length.get() : k_.boolean(true);
    const auto or_zero = [&](const Expr& x) { return lengths_ ? select(active, x, zero) : x; };
    const auto choose = [&](const Local& state, const Expr& x) {
      state.set(lengths_ ? select(active, x, state.get()) : x);
    };
    to.output.set(or_zero(made));
    choose(hidden, made);
    if (lstm_) choose(cell, made_cell);
    if (!keeps_) return;
    for (Expr& each : kept) each = or_zero(each);
    // In time steps past a row's length its cell is unchanged; it is kept as the state before the row's first time
    // step.
    if (lstm_) kept.push_back(cell.get());
    for (int i = 0; i < static_cast<int>(kept.size()); ++i) to.kept.set(i, kept[static_cast<std::size_t>(i)]);
  }

  const RecurrentShape& shape_;
  const DType dtype_;
  const bool keeps_, lstm_;
  Builder& k_;
  const Buffer inputs_, weight_, first_, exchange_, outputs_, last_;
  std::optional<Buffer> kept_, bias_, lengths_, cells_;
  Expr batch_, time_, clip_;
  std::optional<RecurrentPlace> place_;
};

Kernel RecurrentKernel::kernel() const {
  Builder k("recurrent", RecurrentShape::kThreads);
  TimeSteps(k, *this).run();
  return k.finish();
}

}  // namespace

// A projection, and a GRU that resets before its product, need a second product in each time step.
bool run(Gpu& gpu, const op::RecurrentLayer& op, Call call) {
  using Slot = op::RecurrentLayer::Slot;
  const Value &inputs = call.in[Slot::inputs], &weight = call.in[Slot::weight], &state = call.in[Slot::state];
  const std::int64_t batch = inputs.dim(0), time = inputs.dim(1), hidden = weight.dim(1);
  if (call.in[Slot::projection] || (op.cell.kind == RecurrentKind::Gru && !op.cell.reset_after)) return false;
  if (batch == 0 || time == 0 || hidden == 0 || time > INT32_MAX / 256) return false;
  const Value &lengths = call.in[Slot::lengths], &clip = call.in[Slot::clip], &bias = call.in[Slot::candidate_bias];
  const auto shape = shape_of(gpu, op.cell, weight.dtype(), batch, hidden, lengths, clip);
  if (!shape) return false;
  std::vector<Value> held(5);
  const Value exchange = gpu.scratch({{2, batch, hidden}, weight.dtype()});
  std::vector<Argument> arguments{gpu.read_contiguous(inputs, held[0]), gpu.read_aligned(weight, held[1]),
                                  gpu.read_aligned(state, held[2]), read(exchange)};
  for (Value& result : call.out) arguments.emplace_back(gpu.allocate(result));
  if (bias) arguments.emplace_back(gpu.read_contiguous(bias, held[3]));
  if (lengths) arguments.emplace_back(gpu.read_contiguous(lengths, held[4]));
  arguments.emplace_back(batch);
  arguments.emplace_back(time);
  if (clip) arguments.emplace_back(clip.scalar(), weight.dtype());
  launch_tiles(gpu, RecurrentKernel{*shape, !bias.empty(), op.keeps}, batch, std::move(arguments));
  return true;
}

}  // namespace kiln::gpu::family
