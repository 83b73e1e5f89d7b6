#include "kiln/ops/sequence/recurrent.hpp"

#include <algorithm>

#include "kiln/ops/check.hpp"
#include "kiln/ops/custom.hpp"
#include "kiln/ops/product/linear.hpp"
#include "kiln/ops/scope/no_grad.hpp"

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

/// What a pass over time starts from: what of each moment does not depend on the one before, [time, batch, 4 hidden].
/// Time comes first here, so that a moment is one piece of memory.
struct Start {
  Value projections, bias, weight, hidden, cell;  // the bias is 0 where there is none
};
/// What it leaves, one of each for every moment.
struct Moments {
  Values outputs, cells, sums;
};

/// [time, batch, width] -> [batch, width] for each moment
Values apart(const Value& all) {
  const std::int64_t batch = all.dim(1);
  const Value rows = flatten(all, 0, 1);
  Values moments;
  for (std::int64_t t = 0; t < all.dim(0); ++t) moments.push_back(narrow(rows, 0, t * batch, batch));
  return moments;
}
Value together(const Values& moments) {
  const Value& first = moments[0];
  return reshape(cat(moments, 0), {static_cast<std::int64_t>(moments.size()), first.dim(0), first.dim(1)});
}

Moments unrolled(const Start& start) {
  Moments moments;
  // In memory as every moment reads it, rather than turned over for each.
  const Value weight = reshape(flatten(transpose(start.weight)), {start.weight.dim(1), start.weight.dim(0)});
  Value hidden = start.hidden, cell = start.cell;
  for (const Value& projection : apart(start.projections)) {
    moments.sums.push_back(projection + matmul(hidden, weight) + start.bias);
    const auto [input, forget, candidate, output] = Gates(moments.sums.back());
    moments.cells.push_back(cell = forget * cell + input * candidate);
    moments.outputs.push_back(hidden = output * tanh(cell));
  }
  return moments;
}

/// The pass as one operation, for its gradient: going back moment by moment, the tape would add up a gradient of the
/// weights for each, where one product over all of time does. The operands are those of Start and what the pass made of
/// them: the outputs together, the cells and the sums of each moment. The results are the outputs and the last cell.
class Recurrence final : public CustomOp {
 public:
  std::string name() const override { return "lstm"; }
  Descs infer(Inputs in) const override {
    require<ArgumentError>(in.size() >= kCells + 2 && in.size() % 2 == 0, name(), ": ", in.size(),
                           " operands are none of a pass");
    for (const Value& made : in.subspan(kOutputs)) op::require_float(name(), made);
    const Value &outputs = in[kOutputs], cell = cells(in).back();
    require<ShapeError>(outputs.rank() == 3 && outputs.dim(0) == moments(in), name(), ": outputs ", outputs.shape(),
                        " are not of ", moments(in), " moments");
    return {Desc{in[kOutputs].shape(), in[kOutputs].dtype()}, Desc{cell.shape(), cell.dtype()}};
  }
  Values expand(Inputs in) const override { return {in[kOutputs], cells(in).back()}; }

  bool has_vjp() const override { return true; }
  Values vjp(Inputs in, Inputs out, Inputs grads) const override {
    // A gradient that is to be differentiated itself must know how these came about.
    const Start start{in[0], in[1], in[2], in[3], in[4]};
    const auto [outputs, cells, sums] =
        grad_enabled() ? unrolled(start) : Moments{apart(out[0]), Recurrence::cells(in), Recurrence::sums(in)};
    const Values doutputs = apart(grads[0]);
    Value dhidden, dcell = grads[1];
    Values dsums(outputs.size()), before(outputs.size());
    for (std::size_t t = outputs.size(); t-- > 0;) {
      const auto [input, forget, candidate, output] = Gates(sums[t]);
      const Value squashed = tanh(cells[t]);
      before[t] = t > 0 ? outputs[t - 1] : start.hidden;
      dhidden = dhidden ? dhidden + doutputs[t] : doutputs[t];
      dcell = dcell + dhidden * output * (1.0 - square(squashed));
      const Value dinput = dcell * candidate * input * (1.0 - input);
      const Value dforget = dcell * (t > 0 ? cells[t - 1] : start.cell) * forget * (1.0 - forget);
      const Value dcandidate = dcell * input * (1.0 - square(candidate));
      const Value doutput = dhidden * squashed * output * (1.0 - output);
      dsums[t] = cat(Values{dinput, dforget, dcandidate, doutput}, 1);
      dhidden = matmul(dsums[t], start.weight);
      dcell = dcell * forget;
    }
    const Value rows = cat(dsums, 0), dweight = matmul(transpose(rows), cat(before, 0));
    Values grads_in{reshape(rows, start.projections.shape()), sum(rows, {0}), dweight, dhidden, dcell};
    grads_in.resize(in.size());
    return grads_in;
  }

 private:
  static constexpr std::size_t kOutputs = 5, kCells = 6;
  static Values cells(Inputs in) { return {in.begin() + kCells, in.end() - moments(in)}; }
  static Values sums(Inputs in) { return {in.end() - moments(in), in.end()}; }
  static std::ptrdiff_t moments(Inputs in) { return static_cast<std::ptrdiff_t>(in.size() - kCells) / 2; }
};

const Ref<const CustomOp>& recurrence() {
  static const auto one = Ref<const CustomOp>(make_ref<const Recurrence>());  // so that all passes are the same program
  return one;
}

void check(const Value& x, const LstmWeights& weights, const Value& hidden, const Value& cell) {
  for (const Value& given : {x, weights.input, weights.hidden}) op::require_float("lstm", given);
  require<ShapeError>(x.rank() == 3 && x.dim(1) > 0, "lstm: x must be [batch, time, in] with at least one moment, got ",
                      x.shape());
  const Shape& shape = weights.hidden.shape();
  require<ShapeError>(shape.size() == 2 && shape[0] % 4 == 0 && shape[0] / 4 == shape[1], "lstm: the hidden weights ",
                      shape, " are not [4 hidden, hidden]");
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

const Ref<const CustomOp>& op::lstm_recurrence() { return recurrence(); }

LstmPass lstm(const Value& x, const LstmWeights& weights, const Value& hidden, const Value& cell) {
  check(x, weights, hidden, cell);
  const Shape state{x.dim(0), weights.hidden.dim(1)};
  // All moments' share of x at once; what is left for each is the product with the hidden state.
  const Start start{.projections = linear(transpose(x, 0, 1), weights.input),
                    .bias = weights.input_bias ? weights.input_bias + weights.hidden_bias : Value(0.0),
                    .weight = weights.hidden,
                    .hidden = hidden ? hidden : zeros(state, x.device(), x.dtype()),
                    .cell = cell ? cell : zeros(state, x.device(), x.dtype())};
  Values in{start.projections, start.bias, start.weight, start.hidden, start.cell};
  const bool tracked = std::any_of(in.begin(), in.end(), [](const Value& value) { return value.tracked(); });
  if (!tracked || !grad_enabled()) {
    const auto [outputs, cells, sums] = unrolled(start);
    return {transpose(together(outputs), 0, 1), outputs.back(), cells.back()};
  }
  {
    const NoGrad pause;
    const auto [outputs, cells, sums] = unrolled(start);
    in.push_back(together(outputs));
    for (const Values* moments : {&cells, &sums}) in.insert(in.end(), moments->begin(), moments->end());
  }
  const Values results = custom(recurrence(), in);
  return {transpose(results[0], 0, 1), at(results[0], 0, -1), results[1]};
}

}  // namespace kiln
