// op::RecurrentLayerGrad: a block goes back through the time steps with the gates of its units. Through the weights
// they contribute to the gradient of every unit of the previous state; a block passes these shares to the blocks of
// those units.
#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/sequence/recurrent.hpp"
#include "kiln/ops/sequence/recurrent_steps.hpp"

namespace kiln::gpu::family {
namespace {

struct RecurrentGradKernel {
  RecurrentShape shape;
  bool has_last;

  Kernel kernel() const;
};

/// The time steps, as a thread goes back through them.
class TimeStepsBack {
 public:
  TimeStepsBack(Builder& k, const RecurrentGradKernel& source)
      : shape_(source.shape),
        dtype_(shape_.dtype),
        lstm_(shape_.cell.kind == RecurrentKind::Lstm),
        resets_(shape_.cell.kind == RecurrentKind::Gru),
        k_(k),
        weight_(k.input(dtype_)),
        kept_(k.input(dtype_)),
        first_(k.input(dtype_)),
        grad_(k.input(dtype_)),
        shares_(k.both(dtype_)),
        sums_(k.output(dtype_)),
        grad_first_(k.output(dtype_)) {
    if (resets_) product_ = k.output(dtype_);
    if (resets_) before_ = k.input(dtype_);
    if (source.has_last) grad_last_ = k.input(dtype_);
    if (shape_.has_lengths) lengths_ = k.input(shape_.lengths);
    batch_ = k.number(DType::I64);
    time_ = k.number(DType::I32);
    if (shape_.has_clip) clip_ = k.number(dtype_);
    cells_ = k.both(DType::I32);
    place_.emplace(k, shape_, batch_, k.number(DType::I32));
  }

  void run() {
    const int columns = shape_.columns(), wide = shape_.wide();
    const Shared weights = k_.shared(dtype_, std::int64_t{columns} * wide);
    const Shared gates = k_.shared(dtype_, std::int64_t{columns} * shape_.row_stride());
    load_weights(weights);

    const Expr zero = k_.literal(dtype_, 0), none = k_.literal(DType::I32, 0), one = k_.literal(DType::I32, 1);
    const Local hidden = k_.variable(zero), cell = k_.variable(zero);  // the gradients of the state so far
    const Local length = k_.variable(k_.literal(DType::I64, 0));
    k_.when(place_->valid, [&] {
      if (grad_last_) hidden.set((*grad_last_)[state_at(place_->unit)]);
      if (grad_last_ && lstm_) cell.set((*grad_last_)[state_at(place_->unit + shape_.hidden)]);
      if (lengths_) length.set((*lengths_)[place_->row].as(DType::I64));
    });

    const int lanes = shape_.column_lanes() * RecurrentShape::kWarps;
    const RecurrentProduct product(k_, shape_, wide, lanes,
                                   k_.warp() * shape_.column_lanes() + k_.lane() % shape_.column_lanes());
    const int kept = static_cast<int>(op::kept_of(shape_.cell)), made_count = shape_.gates() + (resets_ ? 1 : 0);
    const KeptStep known{k_.variable(zero), k_.local(dtype_, kept), k_.variable(zero)};
    const Local made = k_.local(dtype_, made_count);
    for (int i = 0; i < kept; ++i) known.kept.set(i, zero);
    for (int i = 0; i < made_count; ++i) made.set(i, zero);
    load(known, none);
    k_.loop(none, time_, one, [&](const Expr& turn) {
      k_.when(turn > 0, [&] { add_shares(hidden, turn - 1); });
      k_.when(place_->row_in_tile < shape_.rows, [&] {
        const Exprs of_weights = back(known, time_step_of(turn), length, hidden, cell, made);
        for (std::size_t g = 0; g < of_weights.size(); ++g)
          gates.store(
              (place_->unit_in_group + static_cast<int>(g) * shape_.units) * shape_.row_stride() + place_->row_in_tile,
              of_weights[g]);
      });
      k_.barrier();
      product.run(gates, weights, none, columns);
      product.each([&](const Expr& row, const Expr& column, const Exprs& values) {
        const Expr to = column / shape_.units;
        k_.when(to < shape_.groups(), [&] {
          shares_.store(
              shares_at(turn, to, place_->group) + (row * shape_.units + column % shape_.units).as(DType::I64), values);
        });
      });
      // The other blocks need nothing but the shares.
      const Expr meeting = place_->tile * kCellsApart;
      k_.arrive(*cells_, meeting);
      store(made, turn);
      k_.when(turn + 1 < time_, [&] { load(known, turn + 1); });
      k_.await(*cells_, meeting, (turn + 1) * shape_.groups());
    });
    add_shares(hidden, time_ - 1);
    k_.when(place_->valid, [&] {
      grad_first_.store(state_at(place_->unit), hidden.get());
      if (lstm_) grad_first_.store(state_at(place_->unit + shape_.hidden), cell.get());
    });
  }

 private:
  /// A time step's inputs for one unit of a row, which are loaded while the block waits for the others.
  struct KeptStep {
    Local grad, kept, before;
  };
  Expr time_step_of(const Expr& turn) const { return shape_.cell.reverse ? turn : time_ - 1 - turn; }
  int state_width() const { return (lstm_ ? 2 : 1) * shape_.hidden; }
  Expr state_at(const Expr& unit) const { return place_->row * state_width() + unit; }
  Expr time_at(const Expr& time_step) const { return place_->row * time_.as(DType::I64) + time_step.as(DType::I64); }

  /// The offset of the shares that group `from` computes for the units of group `to`; successive turns alternate
  /// between two buffers.
  Expr shares_at(const Expr& turn, const Expr& to, const Expr& from) const {
    const int groups = shape_.groups();
    const Expr tiles = (batch_ + (shape_.rows - 1)) / shape_.rows;
    const Expr tile = (turn % 2).as(DType::I64) * tiles + place_->tile.as(DType::I64);
    return ((tile * groups + to.as(DType::I64)) * groups + from.as(DType::I64)) * (shape_.rows * shape_.units);
  }
  void add_shares(const Local& hidden, const Expr& turn) {
    k_.when(place_->valid, [&] {
      const Expr none = k_.literal(DType::I32, 0);
      const Expr start = shares_at(turn, place_->group, none) + k_.thread().as(DType::I64);
      // Loaded together, and added in order.
      constexpr int kTogether = 16;
      for (int from = 0; from < shape_.groups(); from += kTogether) {
        Exprs loaded;
        for (int i = from; i < std::min(from + kTogether, shape_.groups()); ++i)
          loaded.push_back(shares_[start + i * (shape_.rows * shape_.units)]);
        Expr sum = hidden.get();
        for (const Expr& each : loaded) sum = sum + each;
        hidden.set(sum);
      }
    });
  }

  /// weights[gate, unit][column], in the order of the weight in memory.
  void load_weights(const Shared& weights) {
    const int wide = shape_.wide(), hidden = shape_.hidden, width = shape_.width();
    const auto unit_of = [&](const Expr& row) { return place_->group * shape_.units + row % shape_.units; };
    SharedCopy{dtype_, wide / width, shape_.columns() * width, width}.run(
        k_,
        [&](const Expr& vector, const Expr& row) {
          return (unit_of(row / width) < hidden) & (vector * width < hidden);
        },
        [&](const Expr& vector, const Expr& row) {
          const Expr from = (row / width / shape_.units * hidden + unit_of(row / width)).as(DType::I64);
          return weight_.load(from * hidden + (vector * width).as(DType::I64), width);
        },
        [&](const Expr& vector, const Expr& row, const Exprs& values) {
          weights.store(row / width * wide + vector * width, values);
        });
  }

  void load(const KeptStep& known, const Expr& turn) {
    const int kept = static_cast<int>(op::kept_of(shape_.cell)), hidden = shape_.hidden;
    const Expr time_step = time_step_of(turn), at = time_at(time_step);
    k_.when(place_->valid, [&] {
      known.grad.set(grad_[at * hidden + place_->unit]);
      for (int i = 0; i < kept; ++i) known.kept.set(i, kept_[at * (kept * hidden) + i * hidden + place_->unit]);
      if (resets_) known.before.set((*before_)[at * hidden + place_->unit]);
      if (lstm_)
        k_.when(
            turn + 1 == time_, [&] { known.before.set(first_[state_at(place_->unit + hidden)]); },
            [&] {
              const Expr earlier = time_at(shape_.cell.reverse ? time_step + 1 : time_step - 1);
              known.before.set(kept_[earlier * (kept * hidden) + 4 * hidden + place_->unit]);
            });
    });
  }
  void store(const Local& made, const Expr& turn) {
    k_.when(place_->valid, [&] {
      const Expr at = time_at(time_step_of(turn));
      const int gates = shape_.gates(), units = shape_.hidden;
      for (int g = 0; g < gates; ++g) sums_.store(at * (gates * units) + g * units + place_->unit, made[g]);
      if (resets_) product_->store(at * units + place_->unit, made[gates]);
    });
  }

  /// The gradients of the products with the gates' weights; `hidden` and `cell` become the parts of the state's
  /// gradients that do not go through the weights. 0 past a row's length.
  Exprs back(const KeptStep& known, const Expr& time_step, const Local& length, const Local& hidden, const Local& cell,
             const Local& made) {
    const RecurrentCell& is = shape_.cell;
    const Expr zero = k_.literal(dtype_, 0), before = known.before.get();
    const auto kept = [&](int i) { return known.kept[i]; };
    const auto slope_of = [&](GateActivation activation, const Expr& y) { return slope(k_, activation, y); };
    const Expr arrived = hidden.get() + known.grad.get();
    Exprs sums, products;  // gradients of the inputs; of the products, where these differ
    Expr stays = zero, cell_stays;
    if (is.kind == RecurrentKind::Lstm) {
      const Expr i = kept(0), f = kept(1), g = kept(2), o = kept(3), c = kept(4);
      const Expr squashed = activate(k_, is.output, dtype_, c);
      const Expr of_cell = within(c, clip_, cell.get() + arrived * o * slope_of(is.output, squashed));
      sums = {of_cell * g * slope_of(is.gate, i), of_cell * before * slope_of(is.gate, f),
              of_cell * i * slope_of(is.candidate, g), arrived * squashed * slope_of(is.gate, o)};
      cell_stays = of_cell * f;
    } else if (is.kind == RecurrentKind::Gru) {
      const Expr r = kept(0), z = kept(1), n = kept(2);
      const Expr of_state = within(n + z * (before - n), clip_, arrived);
      const Expr sum_n = of_state * (1.0 - z) * slope_of(is.candidate, n);
      sums = {sum_n * kept(3) * slope_of(is.gate, r), of_state * (before - n) * slope_of(is.gate, z), sum_n};
      products = {sums[0], sums[1], sum_n * r};
      stays = of_state * z;
    } else {
      sums = {within(kept(0), clip_, arrived) * slope_of(is.candidate, kept(0))};
    }
    const Expr active = lengths_ ? place_->valid & (time_step.as(DType::I64) < length.get()) : place_->valid;
    for (Exprs* const all : {&sums, &products})
      for (Expr& each : *all) each = select(active, each, zero);
    hidden.set(lengths_ ? select(active, stays, hidden.get()) : stays);
    if (lstm_) cell.set(lengths_ ? select(active, cell_stays, cell.get()) : cell_stays);
    for (int g = 0; g < shape_.gates(); ++g) made.set(g, sums[static_cast<std::size_t>(g)]);
    if (resets_) made.set(shape_.gates(), products[2]);
    return products.empty() ? sums : products;
  }

  const RecurrentShape& shape_;
  const DType dtype_;
  const bool lstm_, resets_;
  Builder& k_;
  const Buffer weight_, kept_, first_, grad_, shares_, sums_, grad_first_;
  std::optional<Buffer> product_, before_, grad_last_, lengths_, cells_;
  Expr batch_, time_, clip_;
  std::optional<RecurrentPlace> place_;
};

Kernel RecurrentGradKernel::kernel() const {
  Builder k("recurrent_grad", RecurrentShape::kThreads);
  TimeStepsBack(k, *this).run();
  return k.finish();
}

}  // namespace

bool run(Gpu& gpu, const op::RecurrentLayerGrad& op, Call call) {
  using Slot = op::RecurrentLayerGrad::Slot;
  const Value &weight = call.in[Slot::weight], &grad = call.in[Slot::grad], &state = call.in[Slot::state];
  const std::int64_t batch = grad.dim(0), time = grad.dim(1), hidden = weight.dim(1);
  if (call.in[Slot::projection] || (op.cell.kind == RecurrentKind::Gru && !op.cell.reset_after)) return false;
  if (call.in[Slot::grad_kept]) return false;
  if (batch == 0 || time == 0 || hidden == 0 || time > INT32_MAX / 256) return false;
  const Value &lengths = call.in[Slot::lengths], &clip = call.in[Slot::clip], &last = call.in[Slot::grad_last];
  const auto shape = shape_of(gpu, op.cell, weight.dtype(), batch, hidden, lengths, clip);
  if (!shape) return false;
  std::vector<Value> held(7);
  const std::int64_t tiles = (batch + shape->rows - 1) / shape->rows, groups = shape->groups();
  const Value shares = gpu.scratch({{2, tiles, groups, groups, shape->rows, shape->units}, weight.dtype()});
  std::vector<Argument> arguments{gpu.read_aligned(weight, held[0]), gpu.read_contiguous(call.in[Slot::kept], held[1]),
                                  gpu.read_contiguous(state, held[2]), gpu.read_contiguous(grad, held[3]),
                                  read(shares)};
  for (Value& result : call.out) arguments.emplace_back(gpu.allocate(result));
  if (op.cell.kind == RecurrentKind::Gru) arguments.emplace_back(gpu.read_contiguous(call.in[Slot::before], held[4]));
  if (last) arguments.emplace_back(gpu.read_contiguous(last, held[5]));
  if (lengths) arguments.emplace_back(gpu.read_contiguous(lengths, held[6]));
  arguments.emplace_back(batch);
  arguments.emplace_back(time);
  if (clip) arguments.emplace_back(clip.scalar(), weight.dtype());
  launch_tiles(gpu, RecurrentGradKernel{*shape, !last.empty()}, batch, std::move(arguments));
  return true;
}

}  // namespace kiln::gpu::family
