// Recurrent nodes as modules of kiln/nn.
#include <algorithm>

#include "kiln/onnx/generate/layers.hpp"
#include "kiln/onnx/operators/gates.hpp"

namespace kiln::onnx::cpp {
namespace {

using enum kiln::Kind;

bool is_zeros(const Site& n, int value) {
  const Node* const maker = n.lowering.maker(value);
  if (!maker) {
    const auto constant = n.lowering.graph().constants.find(value);
    if (constant == n.lowering.graph().constants.end() || !constant->second.is_tensor()) return false;
    const auto numbers = constant->second.value().data().to_vector<double>();
    return std::all_of(numbers.begin(), numbers.end(), [](double each) { return each == 0; });
  }
  const OperatorKind kind = maker->row ? maker->row->traits.kind : OperatorKind::Other;
  if (kind == OperatorKind::Rearranged || (kind == OperatorKind::GivenShape && maker->inputs.size() > 1))
    return is_zeros(n, maker->inputs[0]);
  if (maker->op != "ConstantOfShape") return false;
  const Attribute* const fill = find_attribute(*maker, "value");
  return !fill || fill->tensors.at(0).value().data().at(0) == 0;
}

// The rows of the gates of one direction in Kiln's order.
Value gates_of(const Value& all, int direction, std::int64_t gates) {
  const Value rows = in_kiln_order(at(all, 0, direction), gates);
  return from_data(rows.data(), rows.device());
}

// The node's weights as ONNX has them, [directions, gates * hidden, ...].
struct RecurrentWeights {
  bool is_lstm;
  Value w, r, bias;
  std::string direction;
  std::int64_t gates() const { return is_lstm ? 4 : 3; }
  std::int64_t hidden() const { return r.dim(2); }
  std::int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
};

// Nothing where the node has options that no module has.
std::optional<RecurrentWeights> weights_of(const Site& n) {
  RecurrentWeights of{n.node.op == "LSTM", weight(n, 1, 3), weight(n, 2, 3), weight(n, 3, 2),
                      n.s("direction", "forward")};
  for (const std::string_view name :
       {"activations", "activation_alpha", "activation_beta", "clip", "input_forget", "layout"})
    if (n.given(name) && !(name == "layout" && n.i(name, 0) == 0)) return {};
  if (of.w.empty() || of.r.empty() || (n.has(3) && of.bias.empty()) || n.has(4) || n.has(7)) return {};
  const std::int64_t rows = of.gates() * of.hidden(), directions = of.directions();
  if ((directions == 1 && of.direction != "forward" && of.direction != "reverse") ||
      of.w.shape() != Shape({directions, rows, of.w.dim(2)}) ||
      of.r.shape() != Shape({directions, rows, of.hidden()}) ||
      (!of.bias.empty() && of.bias.shape() != Shape({directions, 2 * rows})))
    return {};
  return of;
}

Layer module_of(const Site& n, const RecurrentWeights& of) {
  Layer layer{{}, of.is_lstm ? "nn::Lstm" : "nn::Gru", {}, {}, {}};
  layer.config = layer.type + "Config";
  layer.options = {number("in", of.w.dim(2)), number("hidden", of.hidden()),
                   flag("bidirectional", of.directions() == 2, false), flag("bias", !of.bias.empty(), true),
                   flag("batch_first", false, true)};
  if (!of.is_lstm) layer.options.push_back(flag("reset_after", n.i("linear_before_reset", 0) != 0, true));
  layer.options.push_back(flag("reverse", of.direction == "reverse", false));
  const std::int64_t rows = of.gates() * of.hidden();
  for (int d = 0; d < of.directions(); ++d) {
    const std::string path = d == 0 ? "layers.0." : "reversed.0.";
    layer.tensors[path + "weight_ih"] = gates_of(of.w, d, of.gates());
    layer.tensors[path + "weight_hh"] = gates_of(of.r, d, of.gates());
    if (of.bias.empty()) continue;
    layer.tensors[path + "bias_ih"] = gates_of(narrow(of.bias, 1, 0, rows), d, of.gates());
    layer.tensors[path + "bias_hh"] = gates_of(narrow(of.bias, 1, rows, rows), d, of.gates());
  }
  return layer;
}

// The operands of forward(): x, and the state that it begins with unless that is zeros. Nothing for a state of unknown rank.
std::optional<Code::List> operands_of(const Site& n, bool is_lstm) {
  Code::List states;
  bool starts = false;
  for (std::size_t i = 5; i < (is_lstm ? 7u : 6u); ++i) {
    const bool zeros = !n.has(i) || is_zeros(n, n.node.inputs[i]);
    if (!zeros && (!n.typed(i, Float) || n.rank(i) != 3)) return {};
    states.push_back(zeros ? Code::verbatim("{}") : n.in(i));
    starts = starts || !zeros;
  }
  Code::List operands{n.in(0)};
  if (starts) operands.push_back(is_lstm ? Code::list(std::move(states)) : states[0]);
  return operands;
}

// All outputs with a dimension of directions: [time, directions, batch, hidden].
Code by_direction(const Code& x, Code outputs, const RecurrentWeights& of) {
  const auto number = [](std::int64_t size) { return Code::literal(size); };
  const auto size = [&](std::int64_t dim) { return Code::method(x, "dim", {number(dim)}); };
  if (of.directions() == 1) return Code::method(std::move(outputs), "unsqueeze", {number(1)});
  const Code parts = Code::method(std::move(outputs), "reshape", {size(0), size(1), number(2), number(of.hidden())});
  return Code::method(parts, "transpose", {number(1), number(2)});
}

}  // namespace

MaybeStatement recurrent_layer(const Site& n) {
  const std::optional<RecurrentWeights> of = weights_of(n);
  if (!of || !n.typed(0, Float) || n.rank(0) != 3) return {};
  std::optional<Code::List> operands = operands_of(n, of->is_lstm);
  if (!operands) return {};
  Statement statement = call(n, module_of(n, *of), 1, of->is_lstm ? "lstm" : "gru", std::move(*operands));
  const Code made = Code::value(n.lowering.add_variable(of->is_lstm ? "lstm_result" : "gru_result"));
  const Code state = Code::member(made, "state");
  const Code parts[] = {by_direction(n.in(0), Code::member(made, "outputs"), *of),
                        of->is_lstm ? Code::member(state, "hidden") : state, Code::member(state, "cell")};
  statement.lines.push_back({"const auto", {made}, std::exchange(statement.code, {})});
  statement.form = Statement::Form::Lines;
  for (std::size_t i = 0; i < n.node.outputs.size(); ++i) {
    const int value = n.node.outputs[i];
    if (value == kAbsent || !n.lowering.is_read(value)) continue;
    const Type& type = n.lowering.program()[value].type;
    if (type.rank != (i == 0 ? 4 : 3)) return {};
    statement.results.push_back(value);
    statement.lines.push_back({"const " + name_of(type), {Code::value(value)}, parts[i]});
  }
  return statement;
}

}  // namespace kiln::onnx::cpp
