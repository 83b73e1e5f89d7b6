#include "kiln/ops/sequence/recurrent.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kiln/autodiff/backward.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/op.hpp"
#include "kiln/ops/scope/autocast.hpp"
#include "tests/ops/harness.hpp"

namespace kiln::test {
namespace {

struct Case {
  RecurrentKind kind;
  std::int64_t batch, time, in, hidden;
  RecurrentOptions options = {};
  bool bias = true, state = true;
  std::int64_t projection = 0;             // 0: none
  std::vector<std::int64_t> lengths = {};  // empty: all of time

  std::int64_t out() const { return projection ? projection : hidden; }
  bool lstm() const { return kind == RecurrentKind::Lstm; }
};

double activated(GateActivation activation, double x) {
  switch (activation) {
    case GateActivation::Sigmoid: return 1 / (1 + std::exp(-x));
    case GateActivation::Tanh: return std::tanh(x);
    case GateActivation::Relu: return x > 0 ? x : 0;
    case GateActivation::HardSigmoid: return std::min(std::max(x / 6 + 0.5, 0.0), 1.0);
    case GateActivation::Softsign: return x / (1 + std::abs(x));
    case GateActivation::Identity: return x;
  }
  return x;
}

/// Operands as in row_of: x, input weights, hidden weights, biases, projection, state, cell.
class Meaning {
 public:
  Meaning(const Case& c, const std::vector<Array>& in) : c_(c), x_(in[0]), wx_(in[1]), wh_(in[2]) {
    std::size_t next = 3;
    const auto take = [&](bool there, const Shape& otherwise) { return there ? in[next++] : Array(otherwise); };
    bx_ = take(c.bias, {wx_.shape[0]});
    bh_ = take(c.bias, {wx_.shape[0]});
    projection_ = take(c.projection > 0, {});
    h_ = take(c.state, {c.batch, c.out()});
    cell_ = take(c.state && c.lstm(), {c.batch, c.hidden});
    outputs_ = Array({c.batch, c.time, c.out()});
  }

  std::vector<Array> run() {
    for (std::int64_t b = 0; b < c_.batch; ++b) {
      const std::int64_t length =
          c_.lengths.empty() ? c_.time : std::clamp<std::int64_t>(c_.lengths[static_cast<std::size_t>(b)], 0, c_.time);
      for (std::int64_t i = 0; i < length; ++i) moment(b, c_.options.reverse ? length - 1 - i : i);
    }
    if (c_.lstm()) return {outputs_, h_, cell_};
    return {outputs_, h_};
  }

 private:
  double from_x(std::int64_t b, std::int64_t t, std::int64_t row) const {
    double sum = bx_({row});
    for (std::int64_t p = 0; p < c_.in; ++p) sum += wx_({row, p}) * x_({b, t, p});
    return sum;
  }
  double from_h(const std::vector<double>& h, std::int64_t row) const {
    double sum = bh_({row});
    for (std::size_t p = 0; p < h.size(); ++p) sum += wh_({row, static_cast<std::int64_t>(p)}) * h[p];
    return sum;
  }
  double clipped(double x) const {
    return c_.options.clip ? std::min(std::max(x, -*c_.options.clip), *c_.options.clip) : x;
  }

  void moment(std::int64_t b, std::int64_t t) {
    const RecurrentOptions& o = c_.options;
    std::vector<double> before, after;
    for (std::int64_t j = 0; j < c_.out(); ++j) before.push_back(h_({b, j}));
    const auto sum = [&](std::int64_t gate, std::int64_t j) {
      return from_x(b, t, gate * c_.hidden + j) + from_h(before, gate * c_.hidden + j);
    };
    std::vector<double> reset;  // r h
    for (std::int64_t j = 0; c_.kind == RecurrentKind::Gru && j < c_.hidden; ++j)
      reset.push_back(activated(o.gate, sum(0, j)) * before[static_cast<std::size_t>(j)]);
    for (std::int64_t j = 0; j < c_.hidden; ++j) {
      if (c_.lstm()) {
        double& cell = cell_({b, j});
        cell = clipped(activated(o.gate, sum(1, j)) * cell +
                       activated(o.gate, sum(0, j)) * activated(o.candidate, sum(2, j)));
        after.push_back(activated(o.gate, sum(3, j)) * activated(o.output, cell));
      } else if (c_.kind == RecurrentKind::Gru) {
        const double z = activated(o.gate, sum(1, j)), x = from_x(b, t, 2 * c_.hidden + j);
        const double h = o.reset_after ? activated(o.gate, sum(0, j)) * from_h(before, 2 * c_.hidden + j)
                                       : from_h(reset, 2 * c_.hidden + j);
        after.push_back(clipped((1 - z) * activated(o.candidate, x + h) + z * before[static_cast<std::size_t>(j)]));
      } else {
        after.push_back(clipped(activated(o.candidate, sum(0, j))));
      }
    }
    for (std::int64_t j = 0; j < c_.out(); ++j) {
      double h = 0;
      for (std::int64_t p = 0; p < c_.hidden; ++p)
        h += (c_.projection ? projection_({j, p}) : p == j ? 1.0 : 0.0) * after[static_cast<std::size_t>(p)];
      outputs_({b, t, j}) = h_({b, j}) = h;
    }
  }

  const Case& c_;
  const Array &x_, &wx_, &wh_;
  Array bx_, bh_, projection_, h_, cell_, outputs_;
};

RecurrentPass call(const Case& c, const Values& in) {
  std::size_t next = 3;
  const auto take = [&](bool there) { return there ? in[next++] : Value(); };
  RecurrentWeights weights{in[1], in[2], {}, {}};
  weights.input_bias = take(c.bias);
  weights.hidden_bias = take(c.bias);
  weights.projection = take(c.projection > 0);
  RecurrentState state;
  state.hidden = take(c.state);
  state.cell = take(c.state && c.lstm());
  const Value lengths =
      c.lengths.empty() ? Value() : from_data(TensorData::of<std::int64_t>({c.batch}, c.lengths), in[0].device());
  const auto function = c.lstm() ? lstm : c.kind == RecurrentKind::Gru ? gru : rnn;
  return function(in[0], weights, c.options, state, lengths);
}

OpCase row_of(std::string name, const Case& c, bool gradient = true) {
  const std::int64_t rows = gates_of(c.kind) * c.hidden;
  OpCase row{.name = std::move(name),
             .operands = {{{c.batch, c.time, c.in}}, {{rows, c.in}}, {{rows, c.out()}}},
             .function = {},
             .meaning = [=](const std::vector<Array>& in) { return Meaning(c, in).run(); },
             .tolerance = 20,  // errors pass through every later moment
             .gradient = gradient};
  if (c.bias) row.operands.insert(row.operands.end(), 2, {{rows}});
  if (c.projection) row.operands.push_back({{c.projection, c.hidden}});
  if (c.state) row.operands.push_back({{c.batch, c.out()}});
  if (c.state && c.lstm()) row.operands.push_back({{c.batch, c.hidden}});
  row.function = [=](const Values& in) {
    const RecurrentPass pass = call(c, in);
    Values results{pass.outputs, pass.state.hidden};
    if (c.lstm()) results.push_back(pass.state.cell);
    return results;
  };
  return row;
}

OpCase activations() {
  static constexpr GateActivation kAll[] = {GateActivation::Sigmoid,  GateActivation::Tanh,
                                            GateActivation::Relu,     GateActivation::HardSigmoid,
                                            GateActivation::Softsign, GateActivation::Identity};
  return {.name = "gate_activations",
          .operands = {{{7, 11}, -4, 4}},
          .function =
              [](const Values& in) {
                Values results;
                for (const GateActivation each : kAll) results.push_back(activate(each, in[0]));
                return results;
              },
          .meaning =
              [](const std::vector<Array>& in) {
                std::vector<Array> results;
                for (const GateActivation each : kAll) {
                  results.push_back(in[0]);
                  for (double& value : results.back().v) value = activated(each, value);
                }
                return results;
              }};
}

constexpr auto kLstm = RecurrentKind::Lstm, kGru = RecurrentKind::Gru, kRnn = RecurrentKind::Rnn;

std::vector<OpCase> recurrent_rows() {
  const RecurrentOptions reversed{.reverse = true}, clipped{.clip = 0.3}, resets_before{.reset_after = false},
      others{.gate = GateActivation::HardSigmoid,
             .candidate = GateActivation::Softsign,
             .output = GateActivation::Identity},
      relu{.candidate = GateActivation::Relu}, identity{.candidate = GateActivation::Identity};
  return {
      activations(),
      row_of("lstm", {kLstm, 2, 3, 2, 2}),
      row_of("lstm_from_zeros", {.kind = kLstm, .batch = 2, .time = 3, .in = 2, .hidden = 2, .state = false}),
      row_of("lstm_without_bias", {.kind = kLstm, .batch = 1, .time = 4, .in = 3, .hidden = 1, .bias = false}),
      row_of("lstm_of_one_moment", {kLstm, 3, 1, 2, 2}),
      row_of("lstm_of_no_moment", {kLstm, 2, 0, 3, 2}),
      row_of("lstm_of_nothing", {kLstm, 0, 2, 3, 2}),
      row_of("lstm_reversed", {kLstm, 2, 3, 2, 2, reversed}),
      row_of("lstm_clipped", {kLstm, 2, 3, 2, 2, clipped}),
      row_of("lstm_of_other_activations", {kLstm, 2, 3, 2, 2, others}),
      row_of("lstm_projected", {.kind = kLstm, .batch = 2, .time = 3, .in = 2, .hidden = 3, .projection = 2}),
      row_of("lstm_of_lengths", {.kind = kLstm, .batch = 4, .time = 3, .in = 2, .hidden = 2, .lengths = {2, 3, 0, 9}}),
      row_of(
          "lstm_of_lengths_reversed",
          {.kind = kLstm, .batch = 4, .time = 3, .in = 2, .hidden = 2, .options = reversed, .lengths = {2, 3, -1, 1}}),
      row_of("lstm_of_all", {.kind = kLstm,
                             .batch = 3,
                             .time = 3,
                             .in = 2,
                             .hidden = 3,
                             .options = {.gate = GateActivation::Sigmoid, .reverse = true, .clip = 0.6},
                             .projection = 2,
                             .lengths = {3, 1, 2}}),
      row_of("lstm_of_many", {kLstm, 5, 7, 19, 33}, false),
      row_of("lstm_of_one_row", {kLstm, 1, 5, 19, 141}, false),
      row_of("lstm_of_many_projected", {.kind = kLstm, .batch = 15, .time = 3, .in = 5, .hidden = 37, .projection = 41},
             false),
      row_of("gru", {kGru, 2, 3, 2, 2}),
      row_of("gru_resets_before", {kGru, 2, 3, 2, 2, resets_before}),
      row_of("gru_from_zeros",
             {.kind = kGru, .batch = 2, .time = 2, .in = 2, .hidden = 2, .bias = false, .state = false}),
      row_of("gru_of_no_moment", {kGru, 2, 0, 3, 2}),
      row_of("gru_reversed", {kGru, 2, 3, 2, 2, reversed}),
      row_of("gru_clipped", {kGru, 2, 3, 2, 2, clipped}),
      row_of("gru_of_other_activations", {kGru, 2, 3, 2, 2, others}),
      row_of("gru_of_lengths", {.kind = kGru, .batch = 3, .time = 3, .in = 2, .hidden = 2, .lengths = {2, 3, 0}}),
      row_of("gru_of_all", {.kind = kGru,
                            .batch = 3,
                            .time = 3,
                            .in = 2,
                            .hidden = 2,
                            .options = {.reverse = true, .reset_after = false, .clip = 0.7},
                            .lengths = {1, 3, 2}}),
      row_of("gru_of_lengths_reversed",
             {.kind = kGru, .batch = 3, .time = 3, .in = 2, .hidden = 2, .options = reversed, .lengths = {1, 3, 2}}),
      row_of("gru_of_many", {kGru, 5, 5, 19, 33}, false),
      row_of("gru_of_one_row_resets_before", {kGru, 1, 4, 5, 141, resets_before}, false),
      row_of("gru_of_many_resets_before", {kGru, 5, 5, 19, 33, resets_before}, false),
      row_of("rnn", {kRnn, 2, 3, 2, 3}),
      row_of("rnn_of_relu", {kRnn, 2, 2, 2, 2, relu}),
      row_of("rnn_of_identity", {kRnn, 2, 2, 2, 2, identity}),
      row_of("rnn_clipped_reversed", {kRnn, 2, 3, 2, 2, {.reverse = true, .clip = 0.4}}),
      row_of("rnn_of_lengths_reversed",
             {.kind = kRnn, .batch = 3, .time = 3, .in = 2, .hidden = 2, .options = reversed, .lengths = {1, 3, 2}}),
      row_of("rnn_of_many", {kRnn, 30, 4, 19, 70}, false),
  };
}

const Family kFamily(&recurrent_rows);

Value numbers(const Shape& shape, std::uint64_t seed, DType dtype = DType::F64, const Device& device = Device::cpu()) {
  return normal(shape, 0, 0.5, device, dtype, Key{seed});
}

TEST(Lstm, GoesOnWhereItStopped) {
  const Value x = numbers({2, 5, 3}, 1);
  const RecurrentWeights weights{numbers({16, 3}, 2), numbers({16, 4}, 3), {}, {}};
  const RecurrentPass whole = lstm(x, weights), start = lstm(narrow(x, 1, 0, 2), weights);
  const RecurrentPass rest = lstm(narrow(x, 1, 2, 3), weights, {}, start.state);
  EXPECT_EQ(difference(rest.outputs.data(), narrow(whole.outputs, 1, 2, 3).data(), {1e-14, 1e-14}), "");
  EXPECT_EQ(difference(rest.state.cell.data(), whole.state.cell.data(), {1e-14, 1e-14}), "");
}

// The gradients of float32 parameters stay float32, and are those of float32 to bfloat16's two or three digits.
TEST(Lstm, LearnsUnderAutocast) {
  const Device device = Device::cpu().autodiff();
  const Value x = numbers({3, 4, 5}, 1, DType::F32, device);
  const Values leaves{numbers({24, 5}, 2, DType::F32, device).require_grad(),
                      numbers({24, 6}, 3, DType::F32, device).require_grad()};
  const auto gradients = [&](DType dtype) {
    const Autocast autocast(dtype);
    const RecurrentPass pass = lstm(x, {leaves[0], leaves[1], {}, {}});
    return grad(sum(pass.outputs) + sum(pass.state.cell), leaves);
  };
  const Values expected = gradients(DType::F32), found = gradients(DType::BF16);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    EXPECT_EQ(found[i].dtype(), DType::F32);
    EXPECT_EQ(difference(found[i].data(), expected[i].data(), {0.1, 0.05}), "") << i;
  }
}

// What was captured without a gradient keeps nothing for one: going back it runs once more.
TEST(RecurrentLayers, AreDifferentiatedWithoutWhatTheyKeep) {
  const Device device = Device::cpu().autodiff();
  const Values leaves{numbers({2, 3, 6}, 1, DType::F64, device).require_grad(),
                      numbers({6, 2}, 2, DType::F64, device).require_grad(),
                      numbers({2, 2}, 3, DType::F64, device).require_grad()};
  const RecurrentCell cell{.kind = RecurrentKind::Gru, .reset_after = true};
  const auto gradients = [&](bool keeps) {
    const Values in{leaves[0], leaves[1], {}, {}, leaves[2], {}, {}};
    const Value outputs = emit_all(op::RecurrentLayer{cell, keeps}, in)[0];
    return grad(sum(outputs * outputs), leaves);
  };
  const Values expected = gradients(true), found = gradients(false);
  for (std::size_t i = 0; i < leaves.size(); ++i)
    EXPECT_EQ(difference(found[i].data(), expected[i].data(), {1e-14, 1e-14}), "") << i;
}

// Threads have rows, panels of the weight, or some of both: the bits are those of one thread.
TEST(RecurrentLayers, HaveTheSameBitsHoweverTheyAreShared) {
  const int before = num_threads();
  const Device device = Device::cpu().autodiff();
  for (const auto& [kind, reset_after, projection] :
       {std::tuple{kLstm, true, 0}, {kLstm, true, 90}, {kGru, true, 0}, {kGru, false, 0}, {kRnn, true, 0}})
    for (const std::int64_t batch : {2, 19}) {
      const std::int64_t hidden = kind == kRnn ? 500 : 250, out = projection ? projection : hidden,
                         rows = gates_of(kind) * hidden;
      std::vector<std::int64_t> lengths;
      for (std::int64_t row = 0; row < batch; ++row) lengths.push_back(3 - row % 2);
      const Case c{.kind = kind,
                   .batch = batch,
                   .time = 3,
                   .in = 4,
                   .hidden = hidden,
                   .options = {.reset_after = reset_after},
                   .bias = false,
                   .state = false,
                   .projection = projection,
                   .lengths = lengths};
      Values in{numbers({batch, 3, 4}, 1, DType::F64, device), numbers({rows, 4}, 2, DType::F64, device),
                numbers({rows, out}, 3, DType::F64, device) * 0.1};
      if (projection) in.push_back(numbers({out, hidden}, 4, DType::F64, device));
      for (Value& value : in) value = value.detach().require_grad();
      const auto computed = [&](int threads) {
        set_num_threads(threads);
        const RecurrentPass pass = call(c, in);
        Values all = grad(sum(pass.outputs * pass.outputs) + sum(pass.state.hidden), in);
        all.push_back(pass.outputs);
        std::vector<TensorData> data;
        for (const Value& value : all) data.push_back(value.data());
        return data;
      };
      const std::vector<TensorData> alone = computed(1);
      for (const int threads : {2, 3, 16}) {
        const std::vector<TensorData> shared = computed(threads);
        for (std::size_t i = 0; i < alone.size(); ++i)
          EXPECT_TRUE(std::ranges::equal(shared[i].bytes(), alone[i].bytes()))
              << static_cast<int>(kind) << ' ' << i << " of " << batch << " on " << threads;
      }
    }
  set_num_threads(before);
}

// What h has no numbers of is still a layer: its cells go on. No panel of a projection says so then.
TEST(RecurrentLayers, ProjectToNoColumns) {
  const auto results = [](const Device& device) {
    const Values in{numbers({2, 3, 20}, 1, DType::F64, device),
                    numbers({20, 0}, 2, DType::F64, device),
                    {},
                    numbers({0, 5}, 3, DType::F64, device),
                    numbers({2, 5}, 4, DType::F64, device),
                    {},
                    {}};
    Values all = emit_all(op::RecurrentLayer{{.kind = kLstm}, true}, in);
    const Values grads = emit_all(op::RecurrentLayerGrad{{.kind = kLstm}},
                                  {in[1], in[3], {}, all[2], in[4], {}, {}, all[0], all[1], {}});
    all.insert(all.end(), grads.begin(), grads.end());
    return all;
  };
  const Values found = results(Device::cpu()), expected = results(Device::parse("reference"));
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!expected[i]) continue;
    EXPECT_EQ(difference(found[i].data(), expected[i].data(), {1e-14, 1e-14}), "") << i;
  }
}

}  // namespace
}  // namespace kiln::test
