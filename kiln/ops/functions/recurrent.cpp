#include "kiln/ops/functions/recurrent.hpp"

#include <algorithm>

#include "kiln/ops/check.hpp"
#include "kiln/ops/custom.hpp"
#include "kiln/ops/functions/linear.hpp"
#include "kiln/ops/no_grad.hpp"

namespace kiln {
namespace {

struct Gates {
  Value input, forget, candidate, output;

  /// From their sums [batch, 4 hidden].
  explicit Gates(const Value& sums) {
    const std::int64_t width = sums.dim(1) / 4;
    input = sigmoid(narrow(sums, 1, 0, width));
    forget = sigmoid(narrow(sums, 1, width, width));
    candidate = tanh(narrow(sums, 1, 2 * width, width));
    output = sigmoid(narrow(sums, 1, 3 * width, width));
  }
};

/// a + b, either of which may be empty.
Value plus(const Value& a, const Value& b) {
  if (!a) return b;
  return b ? a + b : a;
}

/// The pass over time as one operation, for its gradient: going back moment by moment, the tape would add up a gradient
/// of the weights for each, where one product over all of time does. The operands are the projections of x, the hidden
/// weights, the first hidden state and cell, and what the pass has made of them: all hidden states, all cells, and all
/// sums that gates are made of. The results are the latter again.
class Recurrence final : public CustomOp {
 public:
  std::string name() const override { return "lstm"; }
  Descs infer(Inputs in) const override {
    const auto desc = [](const Value& x) { return Desc{x.shape(), x.dtype()}; };
    return {desc(in[4]), desc(in[5]), desc(in[6])};
  }
  Values expand(Inputs in) const override { return {in.begin() + 4, in.end()}; }

  bool has_vjp() const override { return true; }
  Values vjp(Inputs in, Inputs out, Inputs grads) const override {
    const Value &weight = in[1], &outputs = out[0], &cells = out[1], &sums = out[2];
    const std::int64_t time = outputs.dim(1);
    Values dsums(static_cast<std::size_t>(time));
    Value dhidden = zeros_like(in[2]), dcell = zeros_like(in[3]);
    for (std::int64_t t = time - 1; t >= 0; --t) {
      const auto moment = [&](const Value& all) { return all ? at(all, 1, t) : Value(); };
      const auto [input, forget, candidate, output] = Gates(moment(sums));
      const Value cell = tanh(moment(cells)), cell_before = t > 0 ? at(cells, 1, t - 1) : in[3];
      dhidden = plus(dhidden, moment(grads[0]));
      dcell = plus(dcell + dhidden * output * (1.0 - square(cell)), moment(grads[1]));
      const Value dinput = dcell * candidate * input * (1.0 - input);
      const Value dforget = dcell * cell_before * forget * (1.0 - forget);
      const Value dcandidate = dcell * input * (1.0 - square(candidate));
      const Value doutput = dhidden * cell * output * (1.0 - output);
      const Value dsum = plus(cat(Values{dinput, dforget, dcandidate, doutput}, 1), moment(grads[2]));
      dsums[static_cast<std::size_t>(t)] = dsum;
      dhidden = matmul(dsum, weight);
      dcell = dcell * forget;
    }
    const Value dprojections = stack(dsums, 1);
    Value before = unsqueeze(in[2], 1);
    if (time > 1) before = cat(Values{before, narrow(outputs, 1, 0, time - 1)}, 1);
    const Value dweight = matmul(transpose(flatten(dprojections, 0, 1)), flatten(before, 0, 1));
    return {dprojections, dweight, dhidden, dcell, {}, {}, {}};
  }
};

void check(const Value& x, const LstmWeights& weights, const Value& hidden, const Value& cell) {
  for (const Value& given : {x, weights.input, weights.hidden}) op::require_float("lstm", given);
  require<ShapeError>(x.rank() == 3 && x.dim(1) > 0, "lstm: x must be [batch, time, in] with at least one moment, got ",
                      x.shape());
  const Shape& shape = weights.hidden.shape();
  require<ShapeError>(shape.size() == 2 && shape[0] == 4 * shape[1], "lstm: the hidden weights ", shape,
                      " are not [4 hidden, hidden]");
  require<ShapeError>(weights.input.shape() == Shape{shape[0], x.dim(2)}, "lstm: the input weights ",
                      weights.input.shape(), " are not ", Shape{shape[0], x.dim(2)});
  for (const Value& bias : {weights.input_bias, weights.hidden_bias})
    require<ShapeError>(bias.empty() == weights.input_bias.empty() && (bias.empty() || bias.shape() == Shape{shape[0]}),
                        "lstm: both biases must be ", Shape{shape[0]}, ", or absent");
  for (const Value& state : {hidden, cell})
    require<ShapeError>(state.empty() || state.shape() == Shape{x.dim(0), shape[1]}, "lstm: a state must be ",
                        Shape{x.dim(0), shape[1]}, ", got ", state);
}

}  // namespace

LstmPass lstm(const Value& x, const LstmWeights& weights, const Value& hidden, const Value& cell) {
  check(x, weights, hidden, cell);
  const Shape state{x.dim(0), weights.hidden.dim(1)};
  const Value first_hidden = hidden ? hidden : zeros(state, x.device(), x.dtype());
  const Value first_cell = cell ? cell : zeros(state, x.device(), x.dtype());
  // All moments' share of x at once; what is left for each is the product with the hidden state.
  const Value bias = weights.input_bias ? weights.input_bias + weights.hidden_bias : Value();
  const Value projections = linear(x, weights.input, bias);

  Values outputs, cells, sums;
  {
    const NoGrad pause;
    const Value recurrent = transpose(weights.hidden);
    Value h = first_hidden, c = first_cell;
    for (std::int64_t t = 0; t < x.dim(1); ++t) {
      sums.push_back(at(projections, 1, t) + matmul(h, recurrent));
      const auto [input, forget, candidate, output] = Gates(sums.back());
      cells.push_back(c = forget * c + input * candidate);
      outputs.push_back(h = output * tanh(c));
    }
  }
  const auto tracked = [](const Value& value) { return value.tracked(); };
  const Values causes{projections, weights.hidden, first_hidden, first_cell};
  if (!grad_enabled() || std::none_of(causes.begin(), causes.end(), tracked))
    return {stack(outputs, 1), outputs.back(), cells.back()};
  Values in = causes;
  for (const Values& moments : {outputs, cells, sums}) in.push_back(stack(moments, 1));
  const Values results = custom(std::make_shared<const Recurrence>(), in);
  return {results[0], at(results[0], 1, -1), at(results[1], 1, -1)};
}

}  // namespace kiln
