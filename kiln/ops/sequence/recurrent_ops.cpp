#include "kiln/ops/sequence/recurrent_ops.hpp"

#include "kiln/core/size.hpp"
#include "kiln/ops/check.hpp"
#include "kiln/ops/composite.hpp"
#include "kiln/ops/sequence/recurrent.hpp"
#include "kiln/ops/sequence/recurrent_steps.hpp"
#include "kiln/ops/vjp.hpp"

namespace kiln::op {
namespace {

using Layer = RecurrentLayer;

struct Sizes {
  std::int64_t batch, time, hidden, out;
  std::int64_t state(const RecurrentCell& cell) const { return out + (cell.kind == RecurrentKind::Lstm ? hidden : 0); }
};

void require_cell(std::string_view name, const RecurrentCell& cell) {
  require<ArgumentError>(cell.kind <= RecurrentKind::Gru && cell.gate <= GateActivation::Identity &&
                             cell.candidate <= GateActivation::Identity && cell.output <= GateActivation::Identity,
                         name, ": the cell has an unknown kind or activation");
  require<ArgumentError>(cell.kind == RecurrentKind::Gru || !cell.reset_after, name, ": only a GRU resets after");
}

/// Checks the operands of both ops: the weight and those of its type.
Sizes require_weights(std::string_view name, const RecurrentCell& cell, const Value& weight, const Value& projection) {
  require_cell(name, cell);
  require_float(name, weight);
  const std::int64_t gates = gates_of(cell.kind);
  require<ShapeError>(weight.rank() == 2 && weight.dim(0) % gates == 0, name, ": the weight ", weight.shape(),
                      " is not [", gates, " hidden, out]");
  const std::int64_t hidden = weight.dim(0) / gates, out = weight.dim(1);
  if (projection) {
    require<ArgumentError>(cell.kind == RecurrentKind::Lstm, name, ": only an LSTM has a projection");
    require_like(name, projection, {out, hidden}, weight.dtype());
  } else {
    require<ShapeError>(hidden == out, name, ": the weight ", weight.shape(), " is not [", gates, " hidden, hidden]");
  }
  return {0, 0, hidden, out};
}

void require_lengths_and_clip(std::string_view name, const Value& lengths, const Value& clip, std::int64_t batch) {
  if (lengths) {
    require_index(name, lengths);
    require<ShapeError>(lengths.shape() == Shape{batch}, name, ": lengths must be ", Shape{batch}, ", got ",
                        lengths.shape());
  }
  require<ArgumentError>(clip.empty() || (clip.is_scalar() && clip.scalar().to<double>() > 0), name,
                         ": clip must be a positive number, got ", clip);
}

Value flat(const Value& x) { return flatten(x, 0, 1); }

/// The state before each time step: the output of the previous step, or the first state where there is none.
Value states_before(const RecurrentCell& cell, const Value& outputs, const Value& first, const Value& lengths) {
  const std::int64_t time = outputs.dim(1);
  if (time == 0) return outputs;
  const Value start = unsqueeze(first, 1);
  if (!cell.reverse) return cat(Values{start, narrow(outputs, 1, 0, time - 1)}, 1);
  const Value shifted = cat(Values{narrow(outputs, 1, 1, time - 1), start}, 1);
  if (!lengths) return shifted;
  const Value moments = reshape(arange(1, time + 1, 1, outputs.device()), {1, time, 1});
  return where(eq(moments, reshape(lengths, {lengths.dim(0), 1, 1})), start, shifted);
}

/// The weight's gradient; for a GRU the candidate's part is computed separately.
Value weight_gradient(const RecurrentCell& cell, const Values& grads, const Value& before, const Value& kept) {
  const auto product = [&](const Value& sums, const Value& states) {
    return matmul(transpose(flat(sums)), flat(states));
  };
  if (cell.kind != RecurrentKind::Gru) return product(grads[0], before);
  const std::int64_t hidden = before.dim(2);
  const Value gates = product(narrow(grads[0], 2, 0, 2 * hidden), before);
  return cat(Values{gates, cell.reset_after
                               ? product(grads[2], before)
                               : product(narrow(grads[0], 2, 2 * hidden, hidden), narrow(kept, 2, 0, hidden) * before)},
             0);
}

}  // namespace

Descs RecurrentLayer::infer(Inputs in) const {
  require_count(kName, in, 7, 7);
  Sizes sizes = require_weights(kName, cell, in[weight], in[projection]);
  const DType dtype = in[weight].dtype();
  require_float(kName, in[inputs]);
  require<ShapeError>(in[inputs].rank() == 3 && in[inputs].dim(2) == in[weight].dim(0), kName, ": inputs ",
                      in[inputs].shape(), " are not [batch, time, ", in[weight].dim(0), "]");
  require_same_dtype(kName, in[inputs], in[weight]);
  sizes.batch = in[inputs].dim(0);
  sizes.time = in[inputs].dim(1);
  require<ArgumentError>(cell.reset_after || in[candidate_bias].empty(), kName,
                         ": only a GRU that resets after has a candidate_bias");
  if (in[candidate_bias]) require_like(kName, in[candidate_bias], {sizes.hidden}, dtype);
  require_like(kName, in[state], {sizes.batch, sizes.state(cell)}, dtype);
  require_lengths_and_clip(kName, in[lengths], in[clip], sizes.batch);
  Descs descs = one({sizes.batch, sizes.time, sizes.out}, dtype);
  descs.push_back({in[state].shape(), dtype});
  const std::int64_t width = multiply_sizes(kName, kept_of(cell), sizes.hidden);
  if (keeps) descs.push_back({{sizes.batch, sizes.time, width}, dtype});
  return descs;
}

Values RecurrentLayer::expand(Inputs in) const {
  if (is_half(in[inputs].dtype())) return in_float32(*this, in);
  return steps_forward(*this, in);
}

// If the layer did not keep its intermediate results, it runs again.
void RecurrentLayer::vjp(Backward& backward) const {
  Values out(3);
  if (keeps) {
    for (int i = 0; i < 3; ++i) out[static_cast<std::size_t>(i)] = backward.out(i);
  } else {
    Values in;
    for (int i = 0; i < backward.arity(); ++i) in.push_back(backward.in_if_any(i));
    out = emit_all(RecurrentLayer{cell, true}, in);
  }
  const Value &w = backward.in(weight), &first = backward.in(state), &lengths_in = backward.in_if_any(lengths);
  const std::int64_t outs = out[outputs].dim(2), hidden = w.dim(0) / gates_of(cell.kind);
  const bool gru = cell.kind == RecurrentKind::Gru;
  const Value before = gru || backward.wants(weight)
                           ? states_before(cell, out[outputs], narrow(first, 1, 0, outs), lengths_in)
                           : Value();
  const Values grads = emit_differentiable(
      RecurrentLayerGrad{cell}, Values{w, backward.in_if_any(projection), gru ? before : Value(), out[kept], first,
                                       lengths_in, backward.in_if_any(clip), backward.grad(outputs),
                                       backward.grad_if_any(last), keeps ? backward.grad_if_any(kept) : Value()});
  backward.to(inputs, [&] { return grads[0]; });
  backward.to(state, [&] { return grads[1]; });
  backward.to(weight, [&] { return weight_gradient(cell, grads, before, out[kept]); });
  backward.to(candidate_bias, [&] { return sum(grads[2], {0, 1}); });
  backward.to(projection, [&] {
    const Value squashed = activate(cell.output, narrow(out[kept], 2, 4 * hidden, hidden));
    return matmul(transpose(flat(grads[2])), flat(narrow(out[kept], 2, 3 * hidden, hidden) * squashed));
  });
}

double RecurrentLayer::flops(Inputs in, Inputs) const {
  const double moments = static_cast<double>(in[inputs].dim(0) * in[inputs].dim(1));
  return 2 * moments * static_cast<double>(in[weight].numel() + (in[projection] ? in[projection].numel() : 0));
}

Descs RecurrentLayerGrad::infer(Inputs in) const {
  require_count(kName, in, 10, 10);
  Sizes sizes = require_weights(kName, cell, in[weight], in[projection]);
  const DType dtype = in[weight].dtype();
  require_float(kName, in[grad]);
  require<ShapeError>(in[grad].rank() == 3 && in[grad].dim(2) == sizes.out, kName, ": the gradient ", in[grad].shape(),
                      " is not [batch, time, ", sizes.out, "]");
  require_same_dtype(kName, in[grad], in[weight]);
  sizes.batch = in[grad].dim(0);
  sizes.time = in[grad].dim(1);
  const std::int64_t width = multiply_sizes(kName, kept_of(cell), sizes.hidden);
  require_like(kName, in[kept], {sizes.batch, sizes.time, width}, dtype);
  require_like(kName, in[state], {sizes.batch, sizes.state(cell)}, dtype);
  const bool gru = cell.kind == RecurrentKind::Gru;
  require<ArgumentError>(gru || in[before].empty(), kName, ": only a GRU asks for the states before");
  if (gru) require_like(kName, in[before], in[grad].shape(), dtype);
  if (in[grad_last]) require_like(kName, in[grad_last], in[state].shape(), dtype);
  if (in[grad_kept]) require_like(kName, in[grad_kept], in[kept].shape(), dtype);
  require_lengths_and_clip(kName, in[lengths], in[clip], sizes.batch);
  Descs descs = one({sizes.batch, sizes.time, in[weight].dim(0)}, dtype);
  descs.push_back({in[state].shape(), dtype});
  if (cell.reset_after || in[projection]) descs.push_back({in[grad].shape(), dtype});
  return descs;
}

Values RecurrentLayerGrad::expand(Inputs in) const {
  if (is_half(in[grad].dtype())) return in_float32(*this, in);
  return steps_backward(*this, in);
}

void RecurrentLayerGrad::vjp(Backward&) const {
  fail<AutodiffError>("recurrent_layer_grad: has no gradient; differentiate the layer with create_graph");
}

double RecurrentLayerGrad::flops(Inputs in, Inputs) const {
  const double moments = static_cast<double>(in[grad].dim(0) * in[grad].dim(1));
  return 2 * moments * static_cast<double>(in[weight].numel() + (in[projection] ? in[projection].numel() : 0));
}

}  // namespace kiln::op
