// RNN, GRU and LSTM: step by step, in either direction or both, with sequences of any length in a batch.
#include <algorithm>
#include <cmath>

#include "kiln/core/error/shown.hpp"
#include "kiln/onnx/operators/broadcast.hpp"
#include "kiln/onnx/operators/gate_products.hpp"
#include "kiln/onnx/operators/gates.hpp"
#include "kiln/onnx/operators/standard.hpp"

namespace kiln::onnx {
namespace {

// A function of gates, with the options that it takes where none are given.
struct ActivationRow {
  std::string_view name;
  Value (*apply)(const Value& x, double alpha, double beta);
  std::optional<double> alpha = {}, beta = {};
};
constexpr ActivationRow kActivations[] = {
    {"sigmoid", [](const Value& x, double, double) { return sigmoid(x); }},
    {"tanh", [](const Value& x, double, double) { return tanh(x); }},
    {"relu", [](const Value& x, double, double) { return relu(x); }},
    {"softsign", [](const Value& x, double, double) { return softsign(x); }},
    {"softplus", [](const Value& x, double, double) { return softplus(x); }},
    {"affine", [](const Value& x, double a, double b) { return x * a + b; }, 1, 0},
    {"leakyrelu", [](const Value& x, double a, double) { return leaky_relu(x, a); }, 0.01},
    {"thresholdedrelu", [](const Value& x, double a, double) { return thresholded_relu(x, a); }, 1},
    {"scaledtanh", [](const Value& x, double a, double b) { return tanh(x * b) * a; }, 1, 1},
    {"hardsigmoid", [](const Value& x, double a, double b) { return clamp(x * a + b, 0, 1); }, 0.2, 0.5},
    {"elu", [](const Value& x, double a, double) { return elu(x, a); }, 1},
};

struct Activation {
  const ActivationRow* row;
  double alpha, beta;
  Value operator()(const Value& x) const { return row->apply(x, alpha, beta); }
};

std::string lower(std::string_view name) {
  std::string out(name);
  for (char& l : out)
    if (l >= 'A' && l <= 'Z') l = static_cast<char>(l + 32);
  return out;
}

// The functions of all directions; options go to those that take some, in order.
std::vector<Activation> activations_of(const Call& c, Strings names, int directions) {
  if (c.given("activations")) names = c.strings("activations");
  else if (const Strings one = names; directions == 2) names.insert(names.end(), one.begin(), one.end());
  const std::vector<float> alphas = c.floats("activation_alpha"), betas = c.floats("activation_beta");
  std::size_t alpha = 0, beta = 0;
  const auto next = [](const std::optional<double>& usual, const std::vector<float>& given, std::size_t& place) {
    if (!usual) return 0.0;
    return place < given.size() ? static_cast<double>(given[place++]) : *usual;
  };
  std::vector<Activation> list;
  for (const std::string& name : names) {
    const auto row = std::ranges::find(kActivations, lower(name), &ActivationRow::name);
    if (row == std::end(kActivations)) c.wrong("activation '", shown(lower(name)), "' is unknown");
    list.push_back({row, next(row->alpha, alphas, alpha), next(row->beta, betas, beta)});
  }
  return list;
}

// One step of one direction: the states after it. `gates` are input and recurrence weights applied by `step`.
struct Pass {
  const Call& c;
  int gates;  // the number of gates in the weights' rows
  std::vector<Value> (*step)(const Pass& pass, const Value& x, const std::vector<Value>& states);
  Value w, r, wb, rb, peephole;  // the weights of one direction
  std::vector<Activation> f;
  double clip = 0;
  std::int64_t hidden = 0;
  const GateProducts* products = nullptr;  // then x is what its product has given already

  Value clipped(const Value& x) const { return clip > 0 ? clamp(x, -clip, clip) : x; }
  Value activate(std::size_t i, const Value& x) const { return f.at(i)(clipped(x)); }
  /// Rows of gate `i` of x * weight^T + bias.
  Value part(const Value& all, int i) const { return narrow(all, 1, i * hidden, hidden); }
  Value input(const Value& x) const { return (products ? x : matmul(x, transpose(w))) + wb; }
  Value recurrence(const Value& h) const { return (products ? products->recurrence(h) : matmul(h, transpose(r))) + rb; }
};

std::vector<Value> rnn_step(const Pass& p, const Value& x, const std::vector<Value>& s) {
  return {p.activate(0, p.input(x) + p.recurrence(s[0]))};
}

std::vector<Value> gru_step(const Pass& p, const Value& x, const std::vector<Value>& s) {
  const Value &h = s[0], in = p.input(x);
  const bool linear_first = p.c.i("linear_before_reset", 0) != 0;
  const Value back = p.recurrence(h);
  const Value update = p.activate(0, p.part(in, 0) + p.part(back, 0)),
              reset = p.activate(0, p.part(in, 1) + p.part(back, 1));
  Value candidate;
  if (linear_first) {
    candidate = reset * p.part(back, 2);
  } else {
    const Value rows = narrow(p.r, 0, 2 * p.hidden, p.hidden);
    candidate = matmul(reset * h, transpose(rows)) + narrow(p.rb, 0, 2 * p.hidden, p.hidden);
  }
  candidate = p.activate(1, p.part(in, 2) + candidate);
  return {(1 - update) * candidate + update * h};
}

std::vector<Value> lstm_step(const Pass& p, const Value& x, const std::vector<Value>& s) {
  const Value all = p.input(x) + p.recurrence(s[0]);  // rows: input, output, forget, cell
  const Value& cell = s[1];
  const auto peep = [&](int i, const Value& of) {
    return p.peephole.empty() ? Value() : narrow(p.peephole, 0, i * p.hidden, p.hidden) * of;
  };
  const auto gate = [&](int row, int peephole, const Value& of) {
    const Value extra = peep(peephole, of);
    return p.activate(0, extra.empty() ? p.part(all, row) : p.part(all, row) + extra);
  };
  const Value input = gate(0, 0, cell);
  const Value forget = p.c.i("input_forget", 0) ? 1 - input : gate(2, 2, cell);
  const Value next = forget * cell + input * p.activate(1, p.part(all, 3));
  return {gate(1, 1, next) * p.f.at(2)(next), next};
}

// ---- as a layer of Kiln, all time steps at once
// ----------------------------------------------------------------------
std::optional<GateActivation> gate_activation(const Activation& f) {
  using enum GateActivation;
  for (const GateActivation each : {Sigmoid, Tanh, Relu, Softsign})
    if (lower(name_of(each)) == f.row->name) return each;
  return {};
}

// The options of a layer of Kiln, where it is one: no peepholes, and nothing is clipped, which ONNX does to what goes
// into activations.
std::optional<RecurrentOptions> layer_options(const Call& c, const std::vector<Activation>& f) {
  if (c.has(7) || c.i("input_forget", 0) || c.f("clip", 0) > 0) return {};
  std::vector<GateActivation> known;
  for (const Activation& each : f) {
    const std::optional<GateActivation> found = gate_activation(each);
    if (!found) return {};
    known.push_back(*found);
  }
  RecurrentOptions options;
  options.gate = known.front();
  options.candidate = known[known.size() > 1 ? 1 : 0];
  if (known.size() > 2) options.output = known[2];
  options.reset_after = c.i("linear_before_reset", 0) != 0;
  return options;
}

// The transpose of in_kiln_order, contiguous, for products that read it.
Value across_in_kiln_order(const Value& rows, int gates) {
  return permute(in_kiln_order(permute(rows, {1, 0}), gates, 1), {1, 0});
}

// One direction; x is [time, batch, in], as are its outputs, and the states are those after the last time step.
std::vector<Value> layer(const Pass& pass, const Value& x, const std::vector<Value>& state, const Value& lengths,
                         const RecurrentOptions& options) {
  const auto order = [&](const Value& rows) { return in_kiln_order(rows, pass.gates); };
  const RecurrentWeights weights{across_in_kiln_order(pass.w, pass.gates), order(pass.r), order(pass.wb),
                                 order(pass.rb)};
  const RecurrentState start{state[0], state.size() > 1 ? state[1] : Value()};
  const auto run = pass.gates == 4 ? lstm : pass.gates == 3 ? gru : rnn;
  const RecurrentPass made = run(permute(x, {1, 0, 2}), weights, options, start, lengths);
  return {permute(made.outputs, {1, 0, 2}), made.state.hidden, made.state.cell};
}

// Each sequence of [time, batch, ...] backwards from its end.
Value reversed(const Call& c, const Value& x) {
  if (x.numel() == 0) return x;
  return standard(c, "ReverseSequence", 10, {Datum(x), c.datum(4)}, {{"batch_axis", 1}, {"time_axis", 0}}).value();
}

// True for the sequences of the batch that have time step t: [batch, 1].
Value have_step(const Call& c, const Ints& lengths, std::int64_t t) {
  std::vector<std::uint8_t> flags;
  for (const std::int64_t length : lengths) flags.push_back(t < length);
  const auto count = static_cast<std::int64_t>(flags.size());
  return cast(from_data(TensorData::of<std::uint8_t>({count, 1}, flags), c.device()), DType::Bool);
}

// One direction, a time step after the other; takes and gives what layer() does.
std::vector<Value> step_by_step(const Pass& pass, const Value& x, std::vector<Value> state, const Ints& lengths,
                                bool backwards) {
  const Call& c = pass.c;
  const std::int64_t time = x.dim(0), batch = x.dim(1);
  c.count_trips(time);
  std::vector<Value> outputs(static_cast<std::size_t>(time));
  Value each = pass.products ? pass.products->input(x) : x, inside;
  // Sequences that take a step together are quantised together, so that each begins at its own end.
  const bool is_reversed = pass.products && backwards && !lengths.empty();
  if (is_reversed) each = reversed(c, each);
  for (std::int64_t i = 0; i < time; ++i) {
    const std::int64_t t = backwards && !is_reversed ? time - 1 - i : i;
    std::vector<Value> now = state;
    if (pass.products && c.wants(0) && !inside.empty()) now[0] = where(inside, now[0], zeros_like(now[0]));
    std::vector<Value> next = pass.step(pass, at(each, 0, t), now);
    Value& seen = outputs[static_cast<std::size_t>(t)] = next[0];
    if (!lengths.empty()) {  // beyond its end a sequence keeps its state, and gives zeros
      inside = have_step(c, lengths, t);
      for (std::size_t s = 0; s < next.size(); ++s) next[s] = where(inside, next[s], state[s]);
      seen = where(inside, seen, zeros_like(seen));
    }
    state = std::move(next);
  }
  const Value all = time ? stack(outputs, 0) : zeros({0, batch, pass.hidden}, c.device(), x.dtype());
  state.insert(state.begin(), is_reversed ? reversed(c, all) : all);
  return state;
}

// The weights of direction d.
Pass pass_of(const Call& c, int gates, decltype(Pass::step) step, int d) {
  const auto of = [&](const Value& all) { return at(all, 0, d); };
  const std::int64_t hidden = c[2].dim(2);
  Pass pass{c, gates, step, of(c[1]), of(c[2]), {}, {}, {}, {}, c.f("clip", 0), hidden};
  const Value bias = c.has(3) ? of(c[3]) : zeros({2 * gates * hidden}, c.device(), c[0].dtype());
  pass.wb = narrow(bias, 0, 0, gates * hidden);
  pass.rb = narrow(bias, 0, gates * hidden, gates * hidden);
  if (c.has(7)) pass.peephole = of(c[7]);
  return pass;
}

// The lengths of the sequences; none where all are as long as x [time, batch, in].
Ints lengths_of(const Call& c, const Value& x) {
  const Ints lengths = c.ints(4);
  c.check(lengths.empty() || static_cast<std::int64_t>(lengths.size()) == x.dim(1), lengths.size(),
          " lengths for a batch of ", x.dim(1));
  for (const std::int64_t length : lengths)
    c.check(length >= 0 && length <= x.dim(0), "a length is ", length, " of ", x.dim(0));
  return lengths;
}

// `products`: of each direction, where they are not those of x and the state with the weights.
Results recurrent(Call& c, int gates, int states, Strings usual, decltype(Pass::step) step,
                  std::span<const GateProducts> products = {}) {
  const bool batch_first = c.i("layout", 0) != 0;
  const Value x = batch_first ? permute(c[0], {1, 0, 2}) : c[0];
  const Value &w = c[1], &r = c[2];
  const std::string direction = c.word("direction", "forward", {"forward", "foward", "reverse", "bidirectional"});
  const int directions = direction == "bidirectional" ? 2 : 1;
  c.check(x.rank() == 3 && w.rank() == 3 && r.rank() == 3 && r.dim(0) == directions && w.dim(0) == directions &&
              w.dim(1) == r.dim(1) && r.dim(1) == gates * r.dim(2) && w.dim(2) == x.dim(2),
          "x ", x.shape(), ", W ", w.shape(), " and R ", r.shape(), " do not fit");
  const std::vector<Activation> functions = activations_of(c, usual, directions);
  c.check(functions.size() == usual.size() * static_cast<std::size_t>(directions), "there are ", functions.size(),
          " activations, not ", usual.size() * static_cast<std::size_t>(directions));
  const Ints lengths = lengths_of(c, x);
  std::optional<RecurrentOptions> options;
  if (products.empty() && (x.dtype() == DType::F32 || x.dtype() == DType::F64)) options = layer_options(c, functions);
  // Kiln's layers have one set of functions for both directions.
  for (std::size_t i = usual.size(); i < functions.size(); ++i)
    if (functions[i].row != functions[i - usual.size()].row) options.reset();
  std::vector<Value> outputs, last[2];
  for (int d = 0; d < directions; ++d) {
    Pass pass = pass_of(c, gates, step, d);
    pass.products = products.empty() ? nullptr : &products[static_cast<std::size_t>(d)];
    const auto first = functions.begin() + d * std::ssize(usual);
    pass.f.assign(first, first + std::ssize(usual));
    std::vector<Value> state;
    for (int s = 0; s < states; ++s) {
      Value initial = c.get(5 + s);
      if (!initial.empty() && batch_first) initial = permute(initial, {1, 0, 2});
      state.push_back(initial.empty() ? zeros({x.dim(1), pass.hidden}, c.device(), x.dtype()) : at(initial, 0, d));
    }
    const bool backwards = direction == "reverse" || d == 1;
    if (options) options->reverse = backwards;
    const std::vector<Value> made =
        options ? layer(pass, x, state, lengths.empty() ? Value() : of_type(c[4], DType::I64), *options)
                : step_by_step(pass, x, std::move(state), lengths, backwards);
    outputs.push_back(made[0]);
    for (int s = 0; s < states; ++s) last[s].push_back(made[static_cast<std::size_t>(s) + 1]);
  }
  std::vector<Datum> out{Datum(stack(outputs, batch_first ? 2 : 1))};  // [time, directions, batch, hidden]
  if (batch_first) out[0] = Datum(permute(out[0].value(), {1, 0, 2, 3}));
  for (int s = 0; s < states; ++s) out.emplace_back(stack(last[s], batch_first ? 1 : 0));
  return Results(std::move(out));
}

Results lstm_of(Call& c, std::span<const GateProducts> products = {}) {
  return recurrent(c, 4, 2, {"sigmoid", "tanh", "tanh"}, lstm_step, products);
}

constexpr OperatorRow kRecurrentRows[] = {
    {"GRU", 1, [](Call& c) { return recurrent(c, 3, 1, {"sigmoid", "tanh"}, gru_step); }},
    {"LSTM", 1, [](Call& c) { return lstm_of(c); }},
    {"RNN", 1, [](Call& c) { return recurrent(c, 1, 1, {"tanh"}, rnn_step); }},
};

}  // namespace

Results lstm_with(Call& c, std::span<const GateProducts> directions) { return lstm_of(c, directions); }

std::span<const OperatorRow> recurrent_rows() { return kRecurrentRows; }

}  // namespace kiln::onnx
