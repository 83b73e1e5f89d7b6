// RNN, GRU and LSTM: step by step, in either direction or both, with sequences of any length in a batch.
#include <algorithm>
#include <cmath>

#include "kiln/onnx/operators/broadcast.hpp"
#include "kiln/onnx/operators/gate_products.hpp"
#include "kiln/onnx/operators/standard.hpp"
#include "kiln/ops/sequence/recurrent.hpp"

namespace kiln::onnx {
namespace {

struct Activation {
  std::string name;
  double alpha = 0, beta = 0;
};

Value apply(const Call& c, const Activation& f, const Value& x) {
  if (f.name == "sigmoid") return sigmoid(x);
  if (f.name == "tanh") return tanh(x);
  if (f.name == "relu") return relu(x);
  if (f.name == "affine") return x * f.alpha + f.beta;
  if (f.name == "leakyrelu") return leaky_relu(x, f.alpha);
  if (f.name == "thresholdedrelu") return thresholded_relu(x, f.alpha);
  if (f.name == "scaledtanh") return tanh(x * f.beta) * f.alpha;
  if (f.name == "hardsigmoid") return clamp(x * f.alpha + f.beta, 0, 1);
  if (f.name == "elu") return elu(x, f.alpha);
  if (f.name == "softsign") return softsign(x);
  if (f.name == "softplus") return softplus(x);
  c.wrong("activation '", f.name, "' is unknown");
}

Strings lower(Strings names) {
  for (std::string& name : names)
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char l) { return l >= 'A' && l <= 'Z' ? char(l + 32) : l; });
  return names;
}

// The functions of all directions; options go to those that take some, in order.
std::vector<Activation> activations_of(const Call& c, Strings names, int directions) {
  if (c.given("activations")) names = lower(c.strings("activations"));
  else if (const Strings one = names; directions == 2) names.insert(names.end(), one.begin(), one.end());
  const std::vector<float> alphas = c.floats("activation_alpha"), betas = c.floats("activation_beta");
  std::vector<Activation> list;
  std::size_t alpha = 0, beta = 0;
  for (const std::string& name : names) {
    Activation f{name};
    const bool has_beta = name == "affine" || name == "scaledtanh" || name == "hardsigmoid";
    const bool has_alpha = has_beta || name == "leakyrelu" || name == "thresholdedrelu" || name == "elu";
    const double usual = name == "leakyrelu" ? 0.01 : name == "hardsigmoid" ? 0.2 : 1;
    if (has_alpha) f.alpha = alpha < alphas.size() ? static_cast<double>(alphas[alpha]) : usual;
    if (has_beta)
      f.beta = beta < betas.size()     ? static_cast<double>(betas[beta])
               : name == "hardsigmoid" ? 0.5
               : name == "affine"      ? 0
                                       : 1;
    alpha += has_alpha, beta += has_beta;
    list.push_back(std::move(f));
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
  Value activate(std::size_t i, const Value& x) const { return apply(c, f.at(i), clipped(x)); }
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
  return {gate(1, 1, next) * apply(p.c, p.f.at(2), next), next};
}

// ---- as a layer of Kiln, all time steps at once ----------------------------------------------------------------------
std::optional<GateActivation> gate_activation(const Activation& f) {
  if (f.name == "sigmoid") return GateActivation::Sigmoid;
  if (f.name == "tanh") return GateActivation::Tanh;
  if (f.name == "relu") return GateActivation::Relu;
  if (f.name == "softsign") return GateActivation::Softsign;
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

// Rows of gates, along a dimension, in Kiln's order: an LSTM's i, o, f, g as i, f, g, o; a GRU's z, r, n as r, z, n.
Value in_kiln_order(const Value& rows, int gates, int dim = 0) {
  if (gates == 1) return rows;
  const std::int64_t hidden = rows.dim(dim) / gates;
  Values parts;
  for (const std::int64_t gate : gates == 4 ? Ints{0, 2, 3, 1} : Ints{1, 0, 2})
    parts.push_back(narrow(rows, dim, gate * hidden, hidden));
  return cat(parts, dim);
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
  return standard(c, "ReverseSequence", 10, {Datum(x), c.datum(4)},
                  {{"batch_axis", of_int(1)}, {"time_axis", of_int(0)}})
      .value();
}

// `products`: of each direction, where they are not those of x and the state with the weights.
Results recurrent(Call& c, int gates, int states, Strings usual, decltype(Pass::step) step,
                  std::span<const GateProducts> products = {}) {
  const bool batch_first = c.i("layout", 0) != 0;
  const Value x = batch_first ? permute(c[0], {1, 0, 2}) : c[0];
  const Value &w = c[1], &r = c[2];
  const std::string direction = c.s("direction", "forward");
  const int directions = direction == "bidirectional" ? 2 : 1;
  c.check(directions == 2 || direction == "forward" || direction == "foward" || direction == "reverse", "direction '",
          direction, "' is unknown");
  c.check(x.rank() == 3 && w.rank() == 3 && r.rank() == 3 && r.dim(0) == directions && w.dim(0) == directions &&
              w.dim(1) == r.dim(1) && r.dim(1) == gates * r.dim(2) && w.dim(2) == x.dim(2),
          "x ", x.shape(), ", W ", w.shape(), " and R ", r.shape(), " do not fit");
  const std::int64_t time = x.dim(0), batch = x.dim(1), hidden = r.dim(2);
  const std::vector<Activation> functions = activations_of(c, usual, directions);
  c.check(functions.size() == usual.size() * static_cast<std::size_t>(directions), "there are ", functions.size(),
          " activations, not ", usual.size() * static_cast<std::size_t>(directions));
  const Ints lengths = c.ints(4);
  c.check(lengths.empty() || static_cast<std::int64_t>(lengths.size()) == batch, lengths.size(),
          " lengths for a batch of ", batch);
  for (const std::int64_t length : lengths)
    c.check(length >= 0 && length <= time, "a length is ", length, " of ", time);
  std::vector<Value> outputs, last[2];
  std::optional<RecurrentOptions> options = products.empty() && (x.dtype() == DType::F32 || x.dtype() == DType::F64)
                                                ? layer_options(c, functions)
                                                : std::optional<RecurrentOptions>();
  // Kiln's layers have one set of functions for both directions.
  for (std::size_t i = usual.size(); i < functions.size(); ++i)
    if (functions[i].name != functions[i - usual.size()].name) options.reset();
  for (int d = 0; d < directions; ++d) {
    const auto of = [&](const Value& all) { return at(all, 0, d); };
    Pass pass{c, gates, step, of(w), of(r), {}, {}, {}, {}, c.f("clip", 0), hidden};
    pass.products = products.empty() ? nullptr : &products[static_cast<std::size_t>(d)];
    const Value bias = c.has(3) ? of(c[3]) : zeros({2 * gates * hidden}, c.device(), x.dtype());
    pass.wb = narrow(bias, 0, 0, gates * hidden);
    pass.rb = narrow(bias, 0, gates * hidden, gates * hidden);
    if (c.has(7)) pass.peephole = of(c[7]);
    pass.f.assign(functions.begin() + d * static_cast<int>(usual.size()),
                  functions.begin() + (d + 1) * static_cast<int>(usual.size()));
    std::vector<Value> state;
    for (int s = 0; s < states; ++s) {
      Value initial = c.get(5 + s);
      if (!initial.empty() && batch_first) initial = permute(initial, {1, 0, 2});
      state.push_back(initial.empty() ? zeros({batch, hidden}, c.device(), x.dtype()) : of(initial));
    }
    const bool backwards = direction == "reverse" || d == 1;
    if (options) {
      options->reverse = backwards;
      const std::vector<Value> made =
          layer(pass, x, state, lengths.empty() ? Value() : of_type(c[4], DType::I64), *options);
      outputs.push_back(made[0]);
      for (int s = 0; s < states; ++s) last[s].push_back(made[static_cast<std::size_t>(s) + 1]);
      continue;
    }
    c.count_trips(time);
    std::vector<Value> steps(static_cast<std::size_t>(time));
    Value each = pass.products ? pass.products->input(x) : x, inside;
    // Sequences that take a step together are quantised together, so that each begins at its own end.
    const bool is_reversed = pass.products && backwards && !lengths.empty();
    if (is_reversed) each = reversed(c, each);
    for (std::int64_t i = 0; i < time; ++i) {
      const std::int64_t t = backwards && !is_reversed ? time - 1 - i : i;
      std::vector<Value> now = state;
      if (pass.products && c.wants(0) && !inside.empty()) now[0] = where(inside, now[0], zeros_like(now[0]));
      std::vector<Value> next = step(pass, at(each, 0, t), now);
      Value seen = next[0];
      if (!lengths.empty()) {  // beyond its end a sequence keeps its state, and gives zeros
        std::vector<std::uint8_t> flags;
        for (const std::int64_t length : lengths) flags.push_back(t < length);
        inside = cast(from_data(TensorData::of<std::uint8_t>({batch, 1}, flags), c.device()), DType::Bool);
        for (std::size_t s = 0; s < next.size(); ++s) next[s] = where(inside, next[s], state[s]);
        seen = where(inside, seen, zeros_like(seen));
      }
      state = std::move(next);
      steps[static_cast<std::size_t>(t)] = seen;
    }
    outputs.push_back(time ? stack(steps, 0) : zeros({0, batch, hidden}, c.device(), x.dtype()));
    if (is_reversed) outputs.back() = reversed(c, outputs.back());
    for (int s = 0; s < states; ++s) last[s].push_back(state[static_cast<std::size_t>(s)]);
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
