// Recurrent layers as one kernel of blocks that meet, against the processor in float64, of sizes at and beyond all that the
// kernel's shape depends on; and what has to run as single moments.
#include "kiln/ops/sequence/recurrent_ops.hpp"
#include "tests/backend/gpu/family/watched.hpp"

namespace kiln::test {
namespace {

constexpr auto kLstm = RecurrentKind::Lstm, kGru = RecurrentKind::Gru, kRnn = RecurrentKind::Rnn;

struct Case {
  RecurrentCell cell;
  std::int64_t batch, time, hidden;
  std::vector<std::int64_t> lengths{};
  std::optional<double> clip{};
  bool bias = true, keeps = true, last = true;  // of a gradient: is there one of the state after the last moment?
  std::size_t launches = 1;
};

Value numbers(const Shape& shape, std::uint64_t seed, double scale) {
  return normal(shape, 0, scale, Device::cpu(), DType::F64, Key{seed});
}
Value on(const Device& device, const Value& value, DType dtype) {
  return value.node() ? from_data(value.data().to(is_integer(value.dtype()) ? value.dtype() : dtype), device) : value;
}
Values on(const Device& device, const Values& values, DType dtype) {
  Values all;
  for (const Value& value : values) all.push_back(on(device, value, dtype));
  return all;
}

Values operands(const Case& c) {
  const std::int64_t rows = gates_of(c.cell.kind) * c.hidden, state = (c.cell.kind == kLstm ? 2 : 1) * c.hidden;
  const double scale = 0.5 / std::sqrt(static_cast<double>(c.hidden));
  return {numbers({c.batch, c.time, rows}, 1, 1),
          numbers({rows, c.hidden}, 2, scale),
          c.bias && c.cell.reset_after ? numbers({c.hidden}, 3, 1) : Value(),
          {},
          numbers({c.batch, state}, 4, 1),
          c.lengths.empty() ? Value() : from_data(TensorData::of<std::int64_t>({c.batch}, c.lengths), Device::cpu()),
          c.clip ? Value(*c.clip) : Value()};
}

/// Operands of the gradient, of what the layer made.
Values operands_back(const Case& c, const Values& in, const Values& made) {
  using Layer = op::RecurrentLayer;
  Value before;
  if (c.cell.kind == kGru) before = numbers(made[0].shape(), 5, 1);
  return {in[Layer::weight],
          {},
          before,
          made[2],
          in[Layer::state],
          in[Layer::lengths],
          in[Layer::clip],
          numbers(made[0].shape(), 6, 1),
          c.last ? numbers(in[Layer::state].shape(), 7, 1) : Value(),
          {}};
}

void expect_same(const Values& found, const Values& wanted, double tolerance, const std::string& what) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    expect_near(found[i], wanted[i].data().to_vector<double>(), tolerance, text(what, ", result ", i));
}

void expect_right(const Case& c, DType dtype = DType::F32) {
  const std::string what =
      text("kind ", static_cast<int>(c.cell.kind), " of [", c.batch, ", ", c.time, ", ", c.hidden, "] in ", dtype);
  const double tolerance = dtype == DType::F64 ? 1e-12 : 2e-4;
  WatchedDevice watched;
  const auto run = [&](const op::Op& op, const Values& in) {
    const Values made = emit_all(op, on(watched.device, in, dtype));
    const std::string kernel = op::name(op) == "recurrent_layer" ? "recurrent" : "recurrent_grad";
    EXPECT_EQ(watched.launches(), Names(c.launches, kernel)) << what;
    return made;
  };
  const Values in = operands(c), wanted = emit_all(op::RecurrentLayer{c.cell, true}, in);
  Values shown = wanted;
  if (!c.keeps) shown.pop_back();
  expect_same(run(op::RecurrentLayer{c.cell, c.keeps}, in), shown, tolerance, what);
  const Values back = operands_back(c, in, wanted);
  expect_same(run(op::RecurrentLayerGrad{c.cell}, back), emit_all(op::RecurrentLayerGrad{c.cell}, back), tolerance,
              what + ", backwards");
}

TEST(GpuRecurrent, GoesThroughAllMoments) {
  for (const RecurrentCell& cell :
       {RecurrentCell{.kind = kLstm}, {.kind = kGru, .reset_after = true}, {.kind = kRnn}}) {
    expect_right({cell, 1, 1, 1});
    expect_right({cell, 2, 5, 3});
    expect_right({cell, 5, 3, 8});
    expect_right({cell, 3, 4, 17, {}, {}, false, false, false});
    expect_right({cell, 19, 3, 12});
    expect_right({cell, 4, 2, 9}, DType::F64);
  }
}

// Weights that are parts of one flat tensor begin where only one element can be loaded at a time.
TEST(GpuRecurrent, TakesOperandsThatBeginAnywhere) {
  const Case c{{.kind = kLstm}, 3, 4, 8};
  const Values in = operands(c), wanted = emit_all(op::RecurrentLayer{c.cell, true}, in);
  const Values back = operands_back(c, in, wanted);
  WatchedDevice watched;
  const auto shifted = [&](Values values) {
    values = on(watched.device, values, DType::F32);
    for (Value& value : values)
      if (value.node()) {
        const Value flat = cat(Values{zeros({1}, watched.device), reshape(value, {value.numel()})}, 0);
        value = reshape(narrow(flat, 0, 1, value.numel()), value.shape());
      }
    return values;
  };
  expect_same(emit_all(op::RecurrentLayer{c.cell, true}, shifted(in)), wanted, 2e-4, "an LSTM");
  expect_same(emit_all(op::RecurrentLayerGrad{c.cell}, shifted(back)), emit_all(op::RecurrentLayerGrad{c.cell}, back),
              2e-4, "an LSTM, backwards");
}

TEST(GpuRecurrent, TakesMoreRowsThanCanMeetOneAfterTheOther) {
  expect_right({{.kind = kLstm}, 70, 2, 12, {}, {}, true, true, true, 2});
  expect_right({{.kind = kGru, .reset_after = true}, 40, 3, 21, {}, {}, true, true, true, 2});
}

TEST(GpuRecurrent, KnowsLengthsDirectionsAndBounds) {
  for (const bool reverse : {false, true})
    for (RecurrentCell cell : {RecurrentCell{.kind = kLstm}, {.kind = kGru, .reset_after = true}, {.kind = kRnn}}) {
      cell.reverse = reverse;
      expect_right({cell, 5, 4, 6, {4, 2, 0, 9, -1}});
      expect_right({cell, 3, 4, 9, {}, 0.2});
      expect_right({cell, 3, 4, 5, {1, 4, 3}, 0.3}, DType::F64);
    }
}

TEST(GpuRecurrent, KnowsEveryActivation) {
  for (const auto activation : {GateActivation::Relu, GateActivation::HardSigmoid, GateActivation::Softsign,
                                GateActivation::Identity, GateActivation::Tanh})
    expect_right({{.kind = kLstm, .gate = activation, .candidate = activation, .output = activation}, 2, 3, 4},
                 DType::F64);
}

TEST(GpuRecurrent, RunsAsSingleMomentsWhatHasASecondProduct) {
  WatchedDevice watched;
  const Case c{{.kind = kGru}, 2, 3, 4};
  const Values in = operands(c), wanted = emit_all(op::RecurrentLayer{c.cell, true}, in);
  const Values made = emit_all(op::RecurrentLayer{c.cell, true}, on(watched.device, in, DType::F32));
  EXPECT_GT(watched.launches().size(), 3u);
  expect_same(made, wanted, 1e-5, "a GRU that resets before");
}

}  // namespace
}  // namespace kiln::test
