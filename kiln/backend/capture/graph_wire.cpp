#include "kiln/backend/capture/graph_wire.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "kiln/backend/capture/body.hpp"
#include "kiln/wire/call.hpp"

namespace kiln {
namespace {

using std::size_t;
using Operands = std::vector<GraphOperand>;

/// Writes the positions of operands through which a gradient may flow.
void write_tracked(wire::Writer& out, const Operands& operands) {
  std::vector<size_t> tracked;
  for (size_t i = 0; i < operands.size(); ++i)
    if (operands[i].tracked) tracked.push_back(i);
  out.whole(tracked.size());
  for (const size_t place : tracked) out.whole(place);
}
void read_tracked(wire::Reader& in, Operands& operands) {
  std::uint64_t least = 0;  // positions ascend
  for (size_t count = in.length(operands.size(), "operands with gradients"); count > 0; --count) {
    const std::uint64_t place = in.whole();
    if (place < least || place >= operands.size() || operands[static_cast<size_t>(place)].id < 0)
      in.wrong("operand ", place, " is no tensor that has a gradient");
    operands[static_cast<size_t>(place)].tracked = true;
    least = place + 1;
  }
}

/// Writes values by their numbers.
void write_values(wire::Writer& out, const Operands& values) {
  out.whole(values.size());
  for (const GraphOperand& value : values) out.whole(static_cast<std::uint64_t>(value.id));
  write_tracked(out, values);
}
Operands read_values(wire::Reader& in, const std::vector<Desc>& known) {
  Operands values;
  for (size_t count = in.length(in.left(), "values"); count > 0; --count) {
    const std::uint64_t id = in.whole();
    if (id >= known.size()) in.wrong("there is no value ", id);
    values.push_back({.id = static_cast<std::int32_t>(id)});
  }
  read_tracked(in, values);
  return values;
}

/// Computes GraphConstant::order, for a backend with addressable memory.
Dims order_of(const Node& node) {
  const int rank = node.desc.shape.size();
  if (node.strides.size() != rank) return {};
  Dims order = Dims::filled(rank, 0);
  std::iota(order.begin(), order.end(), 0);
  const auto apart = [&](std::int64_t dim) { return std::abs(node.strides[static_cast<int>(dim)]); };
  std::sort(order.begin(), order.end(),
            [&](auto a, auto b) { return apart(a) != apart(b) ? apart(a) > apart(b) : a < b; });
  return std::is_sorted(order.begin(), order.end()) ? Dims{} : order;
}
Dims read_order(wire::Reader& in, int rank) {
  Dims order;
  std::uint32_t seen = 0;
  for (size_t count = in.length(kMaxRank, "dimensions"); count > 0; --count) {
    const std::uint64_t dim = in.whole();
    if (dim >= static_cast<std::uint64_t>(rank) || (seen >> dim & 1u)) in.wrong("no order of ", rank, " dimensions");
    seen |= 1u << dim;
    order.push_back(static_cast<std::int64_t>(dim));
  }
  if (!order.empty() && (order.size() != rank || std::is_sorted(order.begin(), order.end())))
    in.wrong("no order of ", rank, " dimensions that needs to be said");
  return order;
}

GraphStep read_step(wire::Reader& in, const std::vector<Desc>& known, const Device& device) {
  const bool recorded = in.flag();
  const auto describe = [&](std::int64_t id) {
    return id < static_cast<std::int64_t>(known.size()) ? &known[static_cast<size_t>(id)] : nullptr;
  };
  wire::CallOf call = wire::read_call(in, describe, device);
  // A recorded operation has only a few results; infer has just confirmed that.
  GraphStep step{.op = std::move(call.op),
                 .in = {},
                 .results = Descs(call.out.begin(), call.out.end()),
                 .first = static_cast<std::int32_t>(known.size()),
                 .recorded = recorded};
  for (const wire::CallOperand& operand : call.in)
    step.in.push_back({.id = static_cast<std::int32_t>(operand.id), .number = operand.number});
  read_tracked(in, step.in);
  step.causes = read_values(in, known);
  return step;
}

}  // namespace

void write_graph(wire::Writer& out, const Graph& graph) {
  const GraphBody& body = graph.body();
  wire::write_header(out);
  out.whole(body.inputs.size());
  for (const Desc& input : body.inputs) wire::write_desc(out, input);
  out.whole(body.constants.size());
  for (const Value& constant : body.constants) {
    wire::write_desc(out, {constant.shape(), constant.dtype()});
    out.byte(constant.tracked());
    const Dims order = order_of(*constant.node());
    out.whole(static_cast<std::uint64_t>(order.size()));
    for (const std::int64_t dim : order) out.whole(static_cast<std::uint64_t>(dim));
  }
  out.whole(body.steps.size());
  std::vector<wire::CallOperand> operands;
  for (const GraphStep& step : body.steps) {
    operands.clear();
    for (const GraphOperand& operand : step.in) operands.push_back({operand.id, operand.number});
    out.byte(step.recorded);
    wire::write_call(out, step.op, operands, {step.results.begin(), step.results.end()});
    write_tracked(out, step.in);
    write_values(out, step.causes);
  }
  write_values(out, body.outputs);
}

Graph read_graph(wire::Reader& in, const Device& device,
                 FunctionRef<Value(std::size_t, const GraphConstant&)> constant) {
  std::string at = "the header";
  const auto describe = [&](ErrorKind, std::string& sentence) {
    if (sentence.find(in.source()) == std::string::npos) sentence += text("; in ", in.source(), ", ", at);
  };
  const ErrorContext context(describe);
  wire::read_header(in);
  const size_t most = in.limits().steps;
  GraphBody body;
  body.device = device.inner();
  std::vector<Desc> known;
  for (size_t count = in.length(most, "inputs"); count > 0; --count) {
    body.inputs.push_back(wire::read_desc(in));
    known.push_back(body.inputs.back());
  }
  for (size_t i = 0, count = in.length(most, "constants"); i < count; ++i) {
    at = text("constant ", i);
    const Desc desc = wire::read_desc(in);
    const bool tracked = in.flag();
    const Value value = constant(i, {desc, read_order(in, desc.shape.size())});
    require<DataError>(value && !value.is_scalar() && value.shape() == desc.shape && value.dtype() == desc.dtype,
                       in.source(), ": constant ", i, " is ", value, ", the program expects ", desc.dtype, ' ',
                       desc.shape);
    body.constants.push_back(tracked && device.is_autodiff() ? value.require_grad() : value.detach());
    known.push_back(desc);
  }
  for (size_t i = 0, count = in.length(most, "operations"); i < count; ++i) {
    at = text("operation ", i);
    body.steps.push_back(read_step(in, known, body.device));
    known.insert(known.end(), body.steps.back().results.begin(), body.steps.back().results.end());
  }
  body.count = static_cast<std::int32_t>(known.size());
  body.outputs = read_values(in, known);
  for (const GraphOperand& output : body.outputs) body.output_descs.push_back(known[static_cast<size_t>(output.id)]);
  in.finish();
  return Graph(make_ref<const GraphBody>(std::move(body)));
}

}  // namespace kiln
