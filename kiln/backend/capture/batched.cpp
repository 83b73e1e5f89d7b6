#include "kiln/backend/capture/batched.hpp"

#include <cstdio>

#include "kiln/backend/capture/batching.hpp"
#include "kiln/backend/capture/replay.hpp"
#include "kiln/core/setting/setting.hpp"

namespace kiln {
namespace {

/// The number of examples of all inputs.
std::int64_t examples_of(const GraphBody& body, Inputs inputs) {
  require<ArgumentError>(inputs.size() == body.inputs.size() && !inputs.empty(), "vmap: the graph takes ",
                         body.inputs.size(), " inputs, got ", inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Desc& desc = body.inputs[i];
    const Value& x = inputs[i];
    require<ArgumentError>(x && !x.is_scalar(), "vmap: input ", i, " must be a tensor, got ", x);
    require<DTypeError>(x.dtype() == desc.dtype, "vmap: input ", i, " is ", x, ", the graph was captured with ",
                        desc.dtype, " ", desc.shape);
    bool like = x.rank() == desc.shape.size() + 1;
    for (int k = 0; like && k < desc.shape.size(); ++k) like = x.dim(k + 1) == desc.shape[k];
    require<ShapeError>(like, "vmap: input ", i, " is ", x, ", and must be [examples, ...] of ", desc.shape);
    require<ShapeError>(x.dim(0) == inputs[0].dim(0), "vmap: input ", i, " has ", x.dim(0), " examples, input 0 has ",
                        inputs[0].dim(0));
  }
  return inputs[0].dim(0);
}

void require_room(const GraphStep& step) {
  for (const Desc& result : step.results)
    require<ShapeError>(result.shape.size() < kMaxRank, "vmap: ", function_name(step), " gives ", result.shape,
                        ", to which no dimension can be added");
}

/// One call for each example.
Values run_each(const GraphStep& step, const BatchedCall& call, const Device& device) {
  static const bool wanted = is_logged("vmap");
  if (wanted) std::fputs(text("vmap: ", function_name(step), " runs ", call.examples, " times\n").c_str(), stderr);
  std::vector<Values> parts(static_cast<std::size_t>(step.results.size()));
  for (std::int64_t i = 0; i < call.examples; ++i) {
    Values in = call.in;
    for (std::size_t k = 0; k < in.size(); ++k)
      if (call.batched[k]) in[k] = at(in[k], 0, i);
    Values results = run_step(step, in, device);
    for (std::size_t k = 0; k < parts.size(); ++k) parts[k].push_back(std::move(results[k]));
  }
  Values results;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    Shape shape{0};
    const Desc& desc = step.results[static_cast<int>(k)];
    for (const std::int64_t size : desc.shape) shape.push_back(size);
    results.push_back(call.examples > 0 ? stack(parts[k], 0) : zeros(shape, device, desc.dtype));
  }
  return results;
}

}  // namespace

Values batched_replay(const Graph& graph, Inputs inputs) {
  const GraphBody& body = graph.body();
  const std::int64_t examples = examples_of(body, inputs);
  std::vector<bool> batched(static_cast<std::size_t>(body.count));
  for (std::size_t i = 0; i < inputs.size(); ++i) batched[i] = true;

  Values outputs = replay_by(body, inputs, [&](const GraphStep& step, Values in, const Device& device) {
    BatchedCall call{std::move(in), {}, examples};
    bool any = false;
    for (const GraphOperand& operand : step.in) {
      call.batched.push_back(operand.id >= 0 && batched[static_cast<std::size_t>(operand.id)]);
      any |= call.batched.back();
    }
    if (!any) return run_step(step, call.in, device);
    require_room(step);
    for (std::size_t k = 0; k < static_cast<std::size_t>(step.results.size()); ++k)
      batched[static_cast<std::size_t>(step.first) + k] = true;
    if (std::optional<Values> results = run_batched(step.op, call)) return std::move(*results);
    return run_each(step, call, device);
  });
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (body.outputs[i].id >= 0 && batched[static_cast<std::size_t>(body.outputs[i].id)]) continue;
    Shape shape{examples};
    for (const std::int64_t size : outputs[i].shape()) shape.push_back(size);
    outputs[i] = expand(outputs[i], shape);
  }
  return outputs;
}

}  // namespace kiln
