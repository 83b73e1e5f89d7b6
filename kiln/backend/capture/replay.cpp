#include "kiln/backend/capture/replay.hpp"

#include "kiln/ops/emit.hpp"
#include "kiln/ops/scope/fails_with.hpp"
#include "kiln/ops/scope/no_grad.hpp"

namespace kiln {
namespace {

/// The last step that reads each value; outputs are kept.
std::vector<std::size_t> last_uses(const GraphBody& body) {
  std::vector<std::size_t> last(static_cast<std::size_t>(body.count), 0);
  const auto read = [&](const std::vector<GraphOperand>& operands, std::size_t step) {
    for (const auto& operand : operands)
      if (operand.id >= 0) last[static_cast<std::size_t>(operand.id)] = step;
  };
  for (std::size_t i = 0; i < body.steps.size(); ++i) {
    read(body.steps[i].in, i);
    read(body.steps[i].causes, i);
  }
  for (const auto& output : body.outputs)
    if (output.id >= 0) last[static_cast<std::size_t>(output.id)] = body.steps.size();
  return last;
}

}  // namespace

Values run_step(const GraphStep& step, Inputs in, const Device& device) {
  for (const GraphOperand& operand : step.in)
    if (operand.id >= 0) return emit_all(step.op, in);
  return emit_all(device, step.op, in);
}

Values replay_by(const GraphBody& body, Inputs inputs, RunStep run) {
  const std::vector<std::size_t> last = last_uses(body);
  Values values(inputs.begin(), inputs.end());
  values.insert(values.end(), body.constants.begin(), body.constants.end());
  values.resize(static_cast<std::size_t>(body.count));

  const auto fetch = [&](const GraphOperand& operand) -> Value {
    if (operand.id == GraphOperand::kNumber) return operand.number;
    if (operand.id == GraphOperand::kNothing) return {};
    const Value& value = values[static_cast<std::size_t>(operand.id)];
    return operand.tracked ? value : value.detach();
  };
  const Device device = inputs.empty() ? body.device : inputs[0].device();
  for (std::size_t i = 0; i < body.steps.size(); ++i) {
    const GraphStep& step = body.steps[i];
    Values in, causes;
    for (const auto& operand : step.in) in.push_back(fetch(operand));
    for (const auto& cause : step.causes) causes.push_back(fetch(cause));
    const FailsWith scope(causes);
    const NoGrad pause(!step.recorded);
    Values results = run(step, std::move(in), device);
    for (std::size_t k = 0; k < results.size(); ++k)
      values[static_cast<std::size_t>(step.first) + k] = std::move(results[k]);
    for (const auto* operands : {&step.in, &step.causes})
      for (const auto& operand : *operands)
        if (operand.id >= 0 && last[static_cast<std::size_t>(operand.id)] == i)
          values[static_cast<std::size_t>(operand.id)] = {};
  }
  Values outputs;
  for (const auto& output : body.outputs) outputs.push_back(fetch(output));
  return outputs;
}

}  // namespace kiln
