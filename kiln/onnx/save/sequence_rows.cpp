// Attention and recurrent layers.
#include <algorithm>
#include <array>
#include <cmath>

#include "kiln/onnx/operators/gates.hpp"
#include "kiln/onnx/save/rows.hpp"
#include "kiln/ops/sequence/attention.hpp"

namespace kiln::onnx {
namespace {

// ---- attention ----------------------------------------------------------------------------------------------------
// ONNX has no windows, and counts the places of queries from the first key where Kiln counts from the last.
bool needs_mask(const op::Attention& op, const Shape& q, const Shape& k) {
  return op.window != 0 || (op.causal && q[2] != k[2]);
}

void attention_row(const op::Attention& op, const WriterStep& s) {
  std::string mask = s.get(op::Attention::mask);
  const Shape &q = s.desc(0).shape, &k = s.desc(1).shape;
  const bool places = needs_mask(op, q, k);
  if (places) {
    if (!s.sizes_of(0)[2].is_fixed() || !s.sizes_of(1)[2].is_fixed())
      return s.complain("a window, or fewer queries than keys, where their number is free");
    const TensorData seen = window_mask({q[2], k[2]}, op.window, op.causal, Device::cpu()).data();
    const std::string near = s.out.constant(seen, "window");
    mask = mask.empty() ? near : s.one("And", {mask, near});
  }
  if (s.has(op::Attention::bias)) {
    const std::string bias = s.in(op::Attention::bias);
    const DType type = s.desc(op::Attention::bias).dtype;
    mask = mask.empty() ? bias : s.one("Where", {mask, bias, s.out.number(-INFINITY, type)});
  }
  NamedAttributes attributes;
  const double scale = s.value(op::Attention::scale);
  if (scale != 1 / std::sqrt(static_cast<double>(s.desc(0).shape[3]))) attributes.push_back(attribute("scale", scale));
  if (op.causal && !places) attributes.push_back(attribute("is_causal", 1));
  if (s.has(op::Attention::softcap)) attributes.push_back(attribute("softcap", s.value(op::Attention::softcap)));
  s.result(s.one("Attention", {s.in(0), s.in(1), s.in(2), mask}, attributes));
}
std::string attention_refused(const op::Attention&, const Program&, const Program::Line& line, int opset) {
  return opset >= 23 && line.is_number(op::Attention::scale) ? "" : "as what it is made of";
}

// ---- recurrent layers ---------------------------------------------------------------------------------------------
// Kiln multiplies by the input weights beforehand, for all time steps at once; ONNX has that inside. The product that
// made a layer's sums is found again: reshape(matmul(reshape(x), weight)) + bias with constant weight and bias.
struct Sums {
  Program::LineOperand x, weight;
  std::optional<Program::LineOperand> bias;
};
std::optional<Sums> sums_of(const Program& p, const Program::LineOperand& sums) {
  const auto constant = [&](const Program::LineOperand& operand) { return p.constants.count(operand.id) != 0; };
  Sums found;
  const Program::Line* line = p.maker(sums);
  const auto* added = line ? std::get_if<op::Binary>(&line->op.is) : nullptr;
  if (added && op::name(added->fn) == "add") {
    if (line->in[1].id < 0 || !constant(line->in[1])) return {};
    found.bias = line->in[1];
    line = p.maker(line->in[0]);
  }
  if (line && std::holds_alternative<op::Reshape>(line->op.is)) line = p.maker(line->in[0]);
  if (!line || !std::holds_alternative<op::Matmul>(line->op.is) || !constant(line->in[1])) return {};
  found.weight = line->in[1];
  const Program::Line* const rows = p.maker(line->in[0]);
  if (!rows || !std::holds_alternative<op::Reshape>(rows->op.is) || rows->in[0].id < 0) return {};
  found.x = rows->in[0];
  const Shape &shape = p.desc(found.x).shape, &all = p.desc(sums).shape;
  const bool same = shape.size() == 3 && shape[0] == all[0] && shape[1] == all[1];
  return same ? std::optional(found) : std::nullopt;
}

Strings activations(const RecurrentCell& cell) {
  const auto of = [](GateActivation f) { return std::string(name_of(f)); };
  if (cell.kind == RecurrentKind::Rnn) return {of(cell.candidate)};
  if (cell.kind == RecurrentKind::Gru) return {of(cell.gate), of(cell.candidate)};
  return {of(cell.gate), of(cell.candidate), of(cell.output)};
}

void recurrent_row(const op::RecurrentLayer& op, const WriterStep& s) {
  using L = op::RecurrentLayer;
  const Program& p = s.program();
  const Sums sums = *sums_of(p, s.operand(L::inputs));
  const RecurrentKind kind = op.cell.kind;
  const auto constant = [&](const Program::LineOperand& operand) { return p.constants.at(operand.id); };
  const std::int64_t gates = gates_of(kind);
  const Value input = in_onnx_order(transpose(constant(sums.weight)), gates),
              hidden = in_onnx_order(constant(s.operand(L::weight)), gates);
  const std::int64_t out = hidden.dim(1), rows = hidden.dim(0);
  const std::string w = s.out.constant(unsqueeze(input, 0).data(), "W"),
                    r = s.out.constant(unsqueeze(hidden, 0).data(), "R");
  std::string bias;
  if (sums.bias) {
    Value candidate = zeros({rows}, input.device(), input.dtype());
    if (s.has(L::candidate_bias)) {
      const Value of = constant(s.operand(L::candidate_bias));
      candidate = pad(of, {rows - of.dim(0)}, {0});
    }
    bias =
        s.out.constant(unsqueeze(cat(Values{in_onnx_order(constant(*sums.bias), gates), candidate}, 0), 0).data(), "B");
  }
  std::string lengths;
  if (s.has(L::lengths)) lengths = cast_name(s.out, s.in(L::lengths), s.desc(L::lengths).dtype, DType::I32);
  const std::string state = s.in(L::state), first = s.out.ints({0});
  const auto part = [&](std::int64_t from, std::int64_t to) {
    const std::string of = kind != RecurrentKind::Lstm
                               ? state
                               : s.one("Slice", {state, s.out.ints({from}), s.out.ints({to}), s.out.ints({1})});
    return s.one("Unsqueeze", {of, first});
  };
  NamedAttributes attributes{attribute("hidden_size", out), attribute("activations", activations(op.cell))};
  if (op.cell.reverse) attributes.push_back(attribute("direction", "reverse"));
  if (kind == RecurrentKind::Gru) attributes.push_back(attribute("linear_before_reset", op.cell.reset_after));
  const bool lstm = kind == RecurrentKind::Lstm;
  const std::string x = transposed(s.out, s.out.name_of(sums.x.id), {1, 0, 2});
  const Strings made =
      s.out.node(lstm                         ? "LSTM"
                 : kind == RecurrentKind::Gru ? "GRU"
                                              : "RNN",
                 {x, w, r, bias, lengths, part(0, out), lstm ? part(out, 2 * out) : ""}, attributes, lstm ? 3 : 2);
  const auto flat = [&](const std::string& y, std::int64_t dim) { return s.one("Squeeze", {y, s.out.ints({dim})}); };
  s.result(transposed(s.out, flat(made[0], 1), {1, 0, 2}), L::outputs);
  s.result(lstm ? s.one("Concat", {flat(made[1], 0), flat(made[2], 0)}, {attribute("axis", 1)}) : flat(made[1], 0),
           L::last);
}
std::string recurrent_refused(const op::RecurrentLayer& op, const Program& p, const Program::Line& line, int) {
  using L = op::RecurrentLayer;
  const auto constant = [&](int i) {
    return !line.has(i) || p.constants.count(line.in[static_cast<std::size_t>(i)].id);
  };
  const bool known = std::ranges::none_of(std::array{op.cell.gate, op.cell.candidate, op.cell.output},
                                          [](GateActivation f) { return name_of(f).empty(); });
  const bool fits = known && !line.has(L::projection) && !line.has(L::clip) && constant(L::weight) &&
                    constant(L::candidate_bias) && sums_of(p, line.in[L::inputs]);
  return fits ? "" : "as what it is made of";
}

constexpr SaveRow kSequenceSaveRows[] = {
    save_row<op::Attention, attention_row, attention_refused>(),
    save_row<op::RecurrentLayer, recurrent_row, recurrent_refused>(),
};

}  // namespace

std::span<const SaveRow> sequence_save_rows() { return kSequenceSaveRows; }

}  // namespace kiln::onnx
