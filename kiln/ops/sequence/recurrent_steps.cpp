#include "kiln/ops/sequence/recurrent_steps.hpp"

#include "kiln/ops/sequence/recurrent.hpp"

namespace kiln::op {
namespace {

/// The derivative, computed from the function's value y.
Value slope(GateActivation activation, const Value& y) {
  switch (activation) {
    case GateActivation::Sigmoid: return y * (1.0 - y);
    case GateActivation::Tanh: return 1.0 - square(y);
    case GateActivation::Relu: return where(gt(y, 0.0), 1.0, zeros_like(y));
    case GateActivation::HardSigmoid: return where(logical_and(gt(y, 0.0), lt(y, 1.0)), 1.0 / 6, zeros_like(y));
    case GateActivation::Softsign: return square(1.0 - abs(y));
    case GateActivation::Identity: return ones_like(y);
  }
  return y;
}

/// x [batch, parts width] -> [batch, width] for each part
Values parts(const Value& x, std::int64_t count) {
  if (count == 1) return {x};
  const std::int64_t width = x.dim(1) / count;
  Values result;
  for (std::int64_t i = 0; i < count; ++i) result.push_back(narrow(x, 1, i * width, width));
  return result;
}

/// [batch, time, width] -> [batch, width] for each time step
Values split_time(const Value& all) {
  Values moments;
  for (std::int64_t t = 0; t < all.dim(1); ++t) moments.push_back(at(all, 1, t));
  return moments;
}
Value stack_time(const Values& moments, const Desc& desc, const Device& device) {
  return moments.empty() ? zeros(desc.shape, device, desc.dtype) : stack(moments, 1);
}

/// The transpose of a weight as a copy in row-major order, so that the time steps need not transpose it each.
Value transposed(const Value& weight) { return reshape(flatten(transpose(weight)), {weight.dim(1), weight.dim(0)}); }

Value bounded(const Value& x, const Value& clip) { return clip ? clamp(x, -clip.scalar().to<double>(), clip) : x; }
/// The gradient of x where bounded(x) is x.
Value within(const Value& x, const Value& clip, const Value& grad) {
  return clip ? where(lt(abs(x), clip), grad, zeros_like(grad)) : grad;
}

/// The rows that have this time step; empty: all.
struct Active {
  Value rows;
  Active(const Value& lengths, std::int64_t t) {
    if (lengths) rows = unsqueeze(gt(lengths, t), 1);
  }
  Value choose(const Value& x, const Value& otherwise) const { return rows ? where(rows, x, otherwise) : x; }
  Value or_zero(const Value& x) const { return rows ? where(rows, x, zeros_like(x)) : x; }
};

std::int64_t time_step(const RecurrentCell& cell, std::int64_t step, std::int64_t time) {
  return cell.reverse ? time - 1 - step : step;
}

/// The first two thirds of a GRU's weight serve its gates, the last third its candidate.
Value gates_part(const Value& x, int dim, std::int64_t hidden) { return narrow(x, dim, 0, 2 * hidden); }
Value candidate_part(const Value& x, int dim, std::int64_t hidden) { return narrow(x, dim, 2 * hidden, hidden); }

/// The results of a time step.
struct StepResult {
  Value hidden, cell, kept;
};

class Forward {
 public:
  Forward(const RecurrentLayer& layer, Inputs in)
      : is_(layer.cell),
        clip_(in[RecurrentLayer::clip]),
        bias_(in[RecurrentLayer::candidate_bias]),
        weight_(transposed(in[RecurrentLayer::weight])) {
    if (in[RecurrentLayer::projection]) projection_ = transposed(in[RecurrentLayer::projection]);
  }

  StepResult make(const Value& inputs, const Value& hidden, const Value& cell) const {
    switch (is_.kind) {
      case RecurrentKind::Lstm: return lstm(inputs, hidden, cell);
      case RecurrentKind::Gru: return gru(inputs, hidden);
      default: break;
    }
    const Value y = activate(is_.candidate, inputs + matmul(hidden, weight_));
    return {bounded(y, clip_), {}, y};
  }

 private:
  StepResult lstm(const Value& inputs, const Value& hidden, const Value& cell) const {
    const Values sums = parts(inputs + matmul(hidden, weight_), 4);
    const Value i = activate(is_.gate, sums[0]), f = activate(is_.gate, sums[1]), g = activate(is_.candidate, sums[2]),
                o = activate(is_.gate, sums[3]);
    const Value c = bounded(f * cell + i * g, clip_), h = o * activate(is_.output, c);
    return {projection_ ? matmul(h, projection_) : h, c, cat(Values{i, f, g, o, c}, 1)};
  }
  StepResult gru(const Value& inputs, const Value& hidden) const {
    const std::int64_t width = hidden.dim(1);
    const Value sums = is_.reset_after ? matmul(hidden, weight_) : matmul(hidden, gates_part(weight_, 1, width));
    const Values gates = parts(activate(is_.gate, gates_part(inputs, 1, width) + gates_part(sums, 1, width)), 2);
    Values kept = gates;
    Value candidate = candidate_part(inputs, 1, width), product;
    if (is_.reset_after) {
      product = candidate_part(sums, 1, width);
      if (bias_) product = product + bias_;
      candidate = candidate + gates[0] * product;
    } else {
      candidate = candidate + matmul(gates[0] * hidden, candidate_part(weight_, 1, width));
    }
    const Value n = activate(is_.candidate, candidate);
    kept.push_back(n);
    if (product) kept.push_back(product);
    return {bounded(n + gates[1] * (hidden - n), clip_), {}, cat(kept, 1)};
  }

  const RecurrentCell is_;
  const Value clip_, bias_, weight_;
  Value projection_;
};

/// The gradients that reach a time step from later ones, and those that it computes.
struct Arrived {
  Value hidden, cell;  // the gradients of the state: first after the step, then before it
  Value sums;          // the gradient of its inputs
  Value product;       // the gradient of weight_n h + candidate_bias
};

class Backwards {
 public:
  Backwards(const RecurrentLayerGrad& layer, Inputs in)
      : is_(layer.cell),
        clip_(in[RecurrentLayerGrad::clip]),
        weight_(in[RecurrentLayerGrad::weight]),
        projection_(in[RecurrentLayerGrad::projection]),
        kept_(kept_of(is_)) {}

  /// `kept` and its gradient, which may be empty; `hidden` and an LSTM's `cell` before the time step.
  Arrived make(const Arrived& to, const Value& kept, const Value& grad_kept, const Value& hidden,
               const Value& cell) const {
    const Values y = parts(kept, kept_), more = grad_kept ? parts(grad_kept, kept_) : Values(y.size());
    const auto and_more = [&](const Value& grad, std::size_t i) { return more[i] ? grad + more[i] : grad; };
    switch (is_.kind) {
      case RecurrentKind::Lstm: return lstm(to, y, and_more, cell);
      case RecurrentKind::Gru: return gru(to, y, and_more, hidden);
      default: break;
    }
    const Value sums = and_more(within(y[0], clip_, to.hidden), 0) * slope(is_.candidate, y[0]);
    return {matmul(sums, weight_), {}, sums, {}};
  }

 private:
  template <class More>
  Arrived lstm(const Arrived& to, const Values& y, const More& and_more, const Value& cell) const {
    const Value &i = y[0], &f = y[1], &g = y[2], &o = y[3], &c = y[4], squashed = activate(is_.output, c);
    const Value hidden = projection_ ? matmul(to.hidden, projection_) : to.hidden;
    const Value dc = within(c, clip_, and_more(to.cell, 4) + hidden * o * slope(is_.output, squashed));
    const Value sums =
        cat(Values{and_more(dc * g, 0) * slope(is_.gate, i), and_more(dc * cell, 1) * slope(is_.gate, f),
                   and_more(dc * i, 2) * slope(is_.candidate, g), and_more(hidden * squashed, 3) * slope(is_.gate, o)},
            1);
    return {matmul(sums, weight_), dc * f, sums, {}};
  }
  template <class More>
  Arrived gru(const Arrived& to, const Values& y, const More& and_more, const Value& hidden) const {
    const Value &r = y[0], &z = y[1], &n = y[2];
    const std::int64_t width = hidden.dim(1);
    const Value dh = within(n + z * (hidden - n), clip_, to.hidden);
    const Value sum_n = and_more(dh * (1.0 - z), 2) * slope(is_.candidate, n);
    const Value sum_z = and_more(dh * (hidden - n), 1) * slope(is_.gate, z);
    Value product, reset;  // the gradients of weight_n h + bias, or of r h
    if (is_.reset_after) product = and_more(sum_n * r, 3);
    else reset = matmul(sum_n, candidate_part(weight_, 0, width));
    const Value sum_r = and_more(product ? sum_n * y[3] : reset * hidden, 0) * slope(is_.gate, r);
    const Value gates = cat(Values{sum_r, sum_z}, 1);
    Value before = dh * z + matmul(gates, gates_part(weight_, 0, width));
    before = before + (product ? matmul(product, candidate_part(weight_, 0, width)) : reset * r);
    return {before, {}, cat(Values{gates, sum_n}, 1), product};
  }

  const RecurrentCell is_;
  const Value clip_, weight_, projection_;
  const std::int64_t kept_;
};

}  // namespace

Values steps_forward(const RecurrentLayer& layer, Inputs in) {
  const Descs descs = layer.infer(in);
  const Value &inputs = in[RecurrentLayer::inputs], &state = in[RecurrentLayer::state];
  const std::int64_t time = inputs.dim(1), out = descs[0].shape[2];
  const Forward forward(layer, in);
  const bool lstm = layer.cell.kind == RecurrentKind::Lstm;
  Value hidden = narrow(state, 1, 0, out), cell = lstm ? narrow(state, 1, out, state.dim(1) - out) : Value();
  const Values each = split_time(inputs);
  Values outputs(each.size()), kept(each.size());
  for (std::int64_t step = 0; step < time; ++step) {
    const std::int64_t t = time_step(layer.cell, step, time);
    const auto place = static_cast<std::size_t>(t);
    const Active active(in[RecurrentLayer::lengths], t);
    StepResult made = forward.make(each[place], hidden, cell);
    outputs[place] = active.or_zero(made.hidden);
    hidden = active.choose(made.hidden, hidden);
    if (lstm) cell = active.choose(made.cell, cell);
    // Where a row has no time step its cell stays, for the gradient of the row's first step.
    if (!layer.keeps) continue;
    kept[place] = active.or_zero(made.kept);
    if (lstm && active.rows) kept[place] = cat(Values{narrow(kept[place], 1, 0, 4 * cell.dim(1)), cell}, 1);
  }
  Values results{stack_time(outputs, descs[0], inputs.device()), lstm ? cat(Values{hidden, cell}, 1) : hidden};
  if (layer.keeps) results.push_back(stack_time(kept, descs[2], inputs.device()));
  return results;
}

Values steps_backward(const RecurrentLayerGrad& layer, Inputs in) {
  using Slot = RecurrentLayerGrad::Slot;
  const Descs descs = layer.infer(in);
  const Value &grad = in[Slot::grad], &state = in[Slot::state];
  const std::int64_t time = grad.dim(1), out = grad.dim(2), width = state.dim(1) - out;
  const bool lstm = layer.cell.kind == RecurrentKind::Lstm;
  const Device device = grad.device();
  const Value last = in[Slot::grad_last] ? in[Slot::grad_last] : zeros_like(state);
  Arrived to{narrow(last, 1, 0, out), lstm ? narrow(last, 1, out, width) : Value(), {}, {}};
  const Backwards backwards(layer, in);
  const Values each = split_time(grad), kept = split_time(in[Slot::kept]),
               before = in[Slot::before] ? split_time(in[Slot::before]) : Values(each.size()),
               grad_kept = in[Slot::grad_kept] ? split_time(in[Slot::grad_kept]) : Values(each.size());
  Values sums(each.size()), more(each.size());
  for (std::int64_t step = time; step-- > 0;) {
    const std::int64_t t = time_step(layer.cell, step, time);
    const auto place = static_cast<std::size_t>(t);
    const Active active(in[Slot::lengths], t);
    Value cell;
    if (lstm)
      cell = step == 0
                 ? narrow(state, 1, out, width)
                 : narrow(kept[static_cast<std::size_t>(time_step(layer.cell, step - 1, time))], 1, 4 * width, width);
    Arrived here = to;
    here.hidden = to.hidden + each[place];
    if (in[Slot::projection]) more[place] = active.or_zero(here.hidden);
    const Arrived made = backwards.make(here, kept[place], grad_kept[place], before[place], cell);
    sums[place] = active.or_zero(made.sums);
    if (made.product) more[place] = active.or_zero(made.product);
    to.hidden = active.choose(made.hidden, to.hidden);
    if (!lstm) continue;
    Value carried = to.cell;
    if (active.rows && grad_kept[place]) carried = carried + narrow(grad_kept[place], 1, 4 * width, width);
    to.cell = active.choose(made.cell, carried);
  }
  Values results{stack_time(sums, descs[0], device), lstm ? cat(Values{to.hidden, to.cell}, 1) : to.hidden};
  if (descs.size() == 3) results.push_back(stack_time(more, descs[2], device));
  return results;
}

}  // namespace kiln::op
