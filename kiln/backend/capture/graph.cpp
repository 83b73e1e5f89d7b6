#include "kiln/backend/capture/graph.hpp"

#include <algorithm>
#include <atomic>

#include "kiln/backend/capture/replay.hpp"
#include "kiln/core/error/say_once.hpp"
#include "kiln/ops/scope/no_grad.hpp"

namespace kiln {
namespace {

/// The operand of a random operation that is its key; -1: there is none.
int key_of(const op::Op& op) {
  return op::visit(op, []<class T>(const T&) -> int {
    if constexpr (requires { T::key; }) return static_cast<int>(T::key);
    else return -1;
  });
}

void check(const GraphBody& body, Inputs inputs) {
  require<ArgumentError>(inputs.size() == body.inputs.size(), "replay: the graph takes ", body.inputs.size(),
                         " inputs, got ", inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Desc& desc = body.inputs[i];
    require<ArgumentError>(inputs[i] && !inputs[i].is_scalar(), "replay: input ", i, " must be a tensor, got ",
                           inputs[i]);
    require<DTypeError>(inputs[i].dtype() == desc.dtype, "replay: input ", i, " is ", inputs[i],
                        ", the graph was captured with ", desc.dtype, " ", desc.shape);
    require<ShapeError>(inputs[i].shape() == desc.shape, "replay: input ", i, " is ", inputs[i],
                        ", the graph was captured with ", desc.dtype, " ", desc.shape);
  }
}

/// Whether no gradient flows through the graph.
bool is_untracked(const GraphBody& body, Inputs inputs) {
  const auto tracked = [](const Value& value) { return value.tracked(); };
  return !grad_enabled() || (std::none_of(inputs.begin(), inputs.end(), tracked) &&
                             std::none_of(body.constants.begin(), body.constants.end(), tracked));
}

std::atomic<GraphRunner> runner{nullptr};

}  // namespace

void register_graph_runner(GraphRunner run) { runner = run; }

Values Graph::replay(Inputs inputs, const ReplayOptions& options) const {
  check(*body_, inputs);
  if (const GraphRunner run = runner; run && is_untracked(*body_, inputs))
    if (std::optional<Values> outputs = run(*this, inputs, options)) return std::move(*outputs);
  return replay_by(*body_, inputs, [&](const GraphStep& step, Values in, const Device& device) {
    if (const int at = options.key ? key_of(step.op) : -1; at >= 0) {
      Value& key = in[static_cast<std::size_t>(at)];
      const auto drawn = key.scalar().to<std::int64_t>();
      key = Scalar(static_cast<std::int64_t>(options.key->split(static_cast<std::uint64_t>(drawn)).bits));
    }
    return run_step(step, in, device);
  });
}

std::vector<Desc> Graph::inputs() const { return body_->inputs; }
std::vector<Desc> Graph::outputs() const { return body_->output_descs; }
std::size_t Graph::size() const { return body_->steps.size(); }
const Values& Graph::constants() const { return body_->constants; }

std::string function_name(const GraphStep& step) {
  if (const auto* custom = std::get_if<op::Custom>(&step.op.is)) return custom->op->name();
  return std::string(op::function_name(step.op));
}

namespace {

void append_operand(std::string& out, const GraphOperand& operand) {
  if (operand.id >= 0) out += text("%", operand.id);
  else if (operand.id == GraphOperand::kNumber) append(out, operand.number);
  else out += "nothing";
}

/// "a, b, c"
template <class List, class F>
void append_list(std::string& out, const List& list, F each) {
  bool first = true;
  for (const auto& element : list) {
    if (!first) out += ", ";
    first = false;
    each(element);
  }
}

}  // namespace

void append(std::string& out, const Graph& graph) {
  const GraphBody& body = graph.body();
  const auto describe = [&](const Desc& desc) { out += text(desc.dtype, " ", desc.shape); };
  std::int32_t id = 0;
  out += "graph(";
  append_list(out, body.inputs, [&](const Desc& desc) {
    out += text("%", id++, " ");
    describe(desc);
  });
  out += ")\n";
  for (const Value& constant : body.constants) out += text("  %", id++, " = constant  ", constant, "\n");
  for (const GraphStep& step : body.steps) {
    out += "  ";
    append_list(out, step.results, [&](const Desc&) { out += text("%", id++); });
    out += text(" = ", function_name(step), "(");
    append_list(out, step.in, [&](const auto& operand) { append_operand(out, operand); });
    if (const std::string attributes = op::attributes(step.op); !attributes.empty())
      out += text(step.in.empty() ? "" : ", ", attributes);
    out += ")  ";
    append_list(out, step.results, describe);
    out += "\n";
  }
  out += "  return ";
  append_list(out, body.outputs, [&](const auto& output) { append_operand(out, output); });
  out += "\n";
}

void watch_dropout(const Graph& graph) {
  const auto& steps = graph.body().steps;
  if (std::ranges::any_of(steps, [](const GraphStep& step) { return op::name(step.op) == op::Dropout::kName; }))
    say_once(
        "capture: dropout is active in the program, and every replay drops the same elements: capture valid(model), "
        "or give each replay a ReplayOptions::key");
}

}  // namespace kiln
