#include "kiln/compile/simplify.hpp"

#include <algorithm>

#include "kiln/backend/capture/replay.hpp"
#include "kiln/ops/expand.hpp"

namespace kiln::compile {
namespace {

bool expands(const op::Op& op) {
  const bool kept = std::holds_alternative<op::MatmulInteger>(op.is) || std::holds_alternative<op::ConvInteger>(op.is);
  return !kept && (is_composite(op) || is_planned(op));
}

bool has_tensor(const GraphStep& step) {
  return std::ranges::any_of(step.in, [](const GraphOperand& operand) { return operand.id >= 0; });
}

}  // namespace

bool is_kept(const Value& constant) {
  constexpr std::int64_t kMany = 16;  // a zero point may as well be computed with
  return size_of(constant.dtype()) == 1 && constant.dtype() != DType::Bool && constant.numel() > kMany;
}

Graph simplified(const Graph& graph, std::vector<Value>& bound) {
  const GraphBody& body = graph.body();
  const Device device = Device::parse("cpu");
  Values examples;
  for (const Desc& desc : body.inputs) examples.push_back(zeros(desc.shape, device, desc.dtype));
  for (const Value& constant : body.constants) {
    if (!is_kept(constant)) continue;
    examples.push_back(to_device(constant.detach(), device));
    bound.push_back(examples.back());
  }
  const auto again = [&](const Values& in) {
    // The graph's values with its constants among the inputs, some of them recorded and the others as they are.
    GraphBody flat;
    flat.device = body.device;
    flat.steps = body.steps;
    flat.outputs = body.outputs;
    flat.count = body.count;
    Values values(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(body.inputs.size()));
    auto kept = values.size();
    for (const Value& constant : body.constants)
      values.push_back(is_kept(constant) ? in[kept++] : to_device(constant.detach(), device));
    Values results = replay_by(flat, values, [&](const GraphStep& step, Values operands, const Device&) {
      // What is made of numbers is a constant, but for a tensor of one number and for random numbers.
      const bool is_constant = !has_tensor(step) && std::holds_alternative<op::Arange>(step.op.is);
      return run_step(step, operands, is_constant || in.empty() ? device : in[0].device());
    });
    return results;
  };
  return capture_graph(again, examples, {.random = false, .expands = expands});
}

}  // namespace kiln::compile
