// Recurrent nodes as modules of kiln/nn.
#include <algorithm>

#include "kiln/onnx/generate/layers.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/view/view.hpp"

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
  const auto fill = maker->attributes.find("value");
  return fill == maker->attributes.end() || fill->second.tensors.at(0).value().data().at(0) == 0;
}

// Of one direction, the rows of its gates as Kiln has them: an LSTM's i, o, f, g as i, f, g, o; a GRU's z, r, n as r, z, n.
Value gates_of(const Value& all, int direction, bool is_lstm) {
  const Value rows = at(all, 0, direction);
  const std::int64_t gates = is_lstm ? 4 : 3, hidden = rows.dim(0) / gates;
  Values parts;
  for (const std::int64_t gate : is_lstm ? Ints{0, 2, 3, 1} : Ints{1, 0, 2})
    parts.push_back(narrow(rows, 0, gate * hidden, hidden));
  const Value turned = cat(parts, 0);
  return from_data(turned.data(), turned.device());
}

}  // namespace

Said recurrent_layer(const Site& n) {
  const bool is_lstm = n.node.op == "LSTM";
  const Value w = weight(n, 1, 3), r = weight(n, 2, 3), bias = weight(n, 3, 2);
  for (const std::string_view name :
       {"activations", "activation_alpha", "activation_beta", "clip", "input_forget", "layout"})
    if (n.given(name) && !(name == "layout" && n.i(name, 0) == 0)) return {};
  if (w.empty() || r.empty() || (n.has(3) && bias.empty()) || n.has(4) || n.has(7) || !n.typed(0, Float) ||
      n.rank(0) != 3)
    return {};
  const std::string direction = n.s("direction", "forward");
  const bool both = direction == "bidirectional";
  const std::int64_t gates = is_lstm ? 4 : 3, hidden = r.dim(2), directions = both ? 2 : 1;
  if ((!both && direction != "forward" && direction != "reverse") ||
      w.shape() != Shape({directions, gates * hidden, w.dim(2)}) ||
      r.shape() != Shape({directions, gates * hidden, hidden}) ||
      (!bias.empty() && bias.shape() != Shape({directions, 2 * gates * hidden})))
    return {};
  std::string states;
  for (const std::size_t i : {std::size_t{5}, std::size_t{6}}) {
    if (i == 6 && !is_lstm) continue;
    const bool zeros = !n.has(i) || is_zeros(n, n.node.inputs[i]);
    if (!zeros && (!n.typed(i, Float) || n.rank(i) != 3)) return {};
    states += text(states.empty() ? "" : ", ", zeros ? "{}" : n.in(i));
  }
  Layer layer{{}, is_lstm ? "nn::Lstm" : "nn::Gru", {}, {}, {}};
  layer.config = layer.type + "Config";
  layer.options = {number("in", w.dim(2)), number("hidden", hidden), flag("bidirectional", both, false),
                   flag("bias", !bias.empty(), true), flag("batch_first", false, true)};
  if (!is_lstm) layer.options.push_back(flag("reset_after", n.i("linear_before_reset", 0) != 0, true));
  layer.options.push_back(flag("reverse", direction == "reverse", false));
  for (int d = 0; d < directions; ++d) {
    const std::string of = d == 0 ? "layers.0." : "reversed.0.";
    layer.tensors[of + "weight_ih"] = gates_of(w, d, is_lstm);
    layer.tensors[of + "weight_hh"] = gates_of(r, d, is_lstm);
    if (bias.empty()) continue;
    layer.tensors[of + "bias_ih"] = gates_of(narrow(bias, 1, 0, gates * hidden), d, is_lstm);
    layer.tensors[of + "bias_hh"] = gates_of(narrow(bias, 1, gates * hidden, gates * hidden), d, is_lstm);
  }
  const bool starts = states.find_first_not_of("{}, ") != std::string::npos;
  const std::string x = n.in(0), operands = !starts ? x : text(x, ", ", is_lstm ? text('{', states, '}') : states);
  Statement statement = call(n, std::move(layer), 1, is_lstm ? "lstm" : "gru", operands);
  const std::string made = value_mark(n.lowering.add_variable(is_lstm ? "lstm_result" : "gru_result"));
  const std::string sizes =
      both ? text(".reshape(", x, ".dim(0), ", x, ".dim(1), 2, ", hidden, ").transpose(1, 2)") : ".unsqueeze(1)";
  const std::string parts[] = {".outputs" + sizes, is_lstm ? ".state.hidden" : ".state", ".state.cell"};
  statement.text = text("const auto ", made, " = ", statement.text, ";\n");
  statement.form = Statement::Form::Lines;
  for (std::size_t i = 0; i < n.node.outputs.size(); ++i) {
    const int value = n.node.outputs[i];
    if (value == kAbsent || !n.lowering.is_read(value)) continue;
    const Type& type = n.lowering.program().values[static_cast<std::size_t>(value)].type;
    if (type.rank != (i == 0 ? 4 : 3)) return {};
    statement.results.push_back(value);
    statement.text += text("const ", name_of(type), ' ', value_mark(value), " = ", made, parts[i], ";\n");
  }
  return statement;
}

}  // namespace kiln::onnx::cpp
