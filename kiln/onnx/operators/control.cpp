// Control flow: branches, loops, scans, and a function for each element of a sequence.
#include <algorithm>
#include <limits>

#include "kiln/onnx/operators/broadcast.hpp"
#include "kiln/ops/view/view.hpp"

namespace kiln::onnx {
namespace {

bool flag_of(const Call& c, const Datum& datum) {
  c.check(datum.is_tensor() && datum.value().numel() == 1, "a condition is ", datum, ", not one boolean");
  return datum.value().data().at(0) != 0;
}

Results branch(Call& c) {
  return Results(c.run(c.subgraph(flag_of(c, c.datum(0)) ? "then_branch" : "else_branch"), {}));
}

// Elements of one scan output, one below the other along `axis`, backwards if said so. Of no steps: what the declared
// type of the body's output says, with no rows.
Datum stacked(const Call& c, std::vector<Datum> steps, int axis, bool backwards, const ValueInfo& info) {
  if (steps.empty()) {
    Shape shape;
    if (info.type.shape)
      for (const DimProto& dim : *info.type.shape) shape.push_back(dim.value.value_or(0));
    shape.insert(std::clamp(axis < 0 ? axis + shape.size() + 1 : axis, 0, shape.size()), 0);
    const Element element = is_known(info.type.element) ? info.type.element : Element::Float;
    if (element == Element::String) return Datum::of_strings(shape, {}, c.device());
    return {zeros(shape, c.device(), dtype_of(element)), element};
  }
  if (backwards) std::reverse(steps.begin(), steps.end());
  steps = with_one_list(std::move(steps));
  Values values;
  for (const Datum& step : steps) values.push_back(step.value());
  return steps[0].like(stack(values, axis));
}

constexpr std::int64_t kBytesOfResult = 512;  // the memory of a kept result of a body, however few elements it has

const ValueInfo& output_info(const Graph& graph, std::size_t i) { return graph[graph.outputs[i]]; }

Results loop(Call& c) {
  const Graph& body = c.subgraph("body");
  const std::int64_t most = c.has(0) ? c.integer(0) : std::numeric_limits<std::int64_t>::max();
  bool go_on = !c.has(1) || flag_of(c, c.datum(1));
  std::vector<Datum> state(c.in.begin() + std::min(2, c.inputs()), c.in.end());
  const std::size_t states = state.size();
  c.check(body.inputs.size() == states + 2 && body.outputs.size() >= states + 1, "the body takes ", body.inputs.size(),
          " values and gives ", body.outputs.size(), " for a state of ", states);
  std::vector<std::vector<Datum>> scans(body.outputs.size() - states - 1);
  for (std::int64_t i = 0; i < most && go_on; ++i) {
    c.count_trips(1);
    c.check_room((i + 1) * static_cast<std::int64_t>(scans.size()), kBytesOfResult);
    std::vector<Datum> in{Datum(from_data(TensorData::of<std::int64_t>({}, {i}), c.device())),
                          Datum(full({}, go_on, c.device(), DType::Bool))};
    in.insert(in.end(), state.begin(), state.end());
    std::vector<Datum> out = c.run(body, std::move(in));
    go_on = flag_of(c, out[0]);
    for (std::size_t s = 0; s < states; ++s) state[s] = std::move(out[s + 1]);
    for (std::size_t s = 0; s < scans.size(); ++s) scans[s].push_back(std::move(out[s + 1 + states]));
  }
  for (std::size_t s = 0; s < scans.size(); ++s)
    state.push_back(stacked(c, std::move(scans[s]), 0, false, output_info(body, s + 1 + states)));
  return Results(std::move(state));
}

// One pass over `in`, the states and then what is scanned.
std::vector<Datum> scan_pass(const Call& c, const Graph& body, std::vector<Datum> in, std::size_t scanned,
                             const std::string& prefix, std::int64_t length) {
  const std::size_t states = in.size() - scanned, results = body.outputs.size() - states;
  const auto option = [&](const std::string& name, std::size_t i) {
    const Ints list = c.ints(name);
    c.check(list.empty() || i < list.size(), name, " has ", list.size(), " entries");
    return list.empty() ? 0 : list[i];
  };
  const bool old = prefix.empty();
  std::vector<int> axes;
  std::int64_t steps = length;
  for (std::size_t s = 0; s < scanned; ++s) {
    const Value& x = in[states + s].value();
    axes.push_back(old ? 0 : c.dim(option("scan_input_axes", s), x.rank()));
    const std::int64_t size = x.dim(axes[s]);
    if (steps < 0) steps = size;
    c.check(old ? size >= steps : size == steps, "an operand has ", size, " steps, others ", steps);
  }
  c.count_trips(steps);
  c.check_room(steps, static_cast<std::int64_t>(results + 1) * kBytesOfResult);
  std::vector<Datum> state(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(states));
  std::vector<std::vector<Datum>> scans(results);
  for (std::int64_t i = 0; i < steps; ++i) {
    std::vector<Datum> step = state;
    for (std::size_t s = 0; s < scanned; ++s) {
      const Datum& from = in[states + s];
      const bool backwards = option(old ? "directions" : "scan_input_directions", s) != 0;
      step.push_back(from.like(at(from.value(), axes[s], backwards ? steps - 1 - i : i)));
    }
    std::vector<Datum> out = c.run(body, std::move(step));
    for (std::size_t s = 0; s < states; ++s) state[s] = std::move(out[s]);
    for (std::size_t s = 0; s < results; ++s) scans[s].push_back(std::move(out[s + states]));
  }
  for (std::size_t s = 0; s < results; ++s) {
    const bool backwards = !old && option("scan_output_directions", s) != 0;
    const auto axis = static_cast<int>(old ? 0 : option("scan_output_axes", s));
    state.push_back(stacked(c, std::move(scans[s]), axis, backwards, output_info(body, s + states)));
  }
  return state;
}

Results scan(Call& c) {
  const Graph& body = c.subgraph("body");
  const bool old = c.version() < 9;  // then there is a batch, and lengths of its sequences
  std::vector<Datum> in(c.in.begin() + std::min<int>(old, c.inputs()), c.in.end());
  const std::int64_t scanned = c.i("num_scan_inputs", 0);
  c.check(scanned >= 1 && static_cast<std::size_t>(scanned) <= in.size() && body.inputs.size() == in.size() &&
              body.outputs.size() >= in.size() - static_cast<std::size_t>(scanned),
          scanned, " operands are scanned of ", in.size(), "; the body takes ", body.inputs.size(), " and gives ",
          body.outputs.size());
  if (!old) return Results(scan_pass(c, body, std::move(in), static_cast<std::size_t>(scanned), "scan_", -1));
  const std::int64_t batch = in.front().value().dim(0);
  const Ints lengths = c.ints(0);
  c.check(lengths.empty() || static_cast<std::int64_t>(lengths.size()) == batch, lengths.size(), " lengths of ", batch);
  std::vector<std::vector<Datum>> of_outputs(body.outputs.size());
  const std::int64_t longest = in.back().value().dim(1);
  for (std::int64_t b = 0; b < batch; ++b) {
    std::vector<Datum> one;
    for (const Datum& datum : in) one.push_back({at(datum.value(), 0, b), datum.element()});
    const std::int64_t length = lengths.empty() ? longest : lengths[static_cast<std::size_t>(b)];
    c.check(length >= 0 && length <= longest, "a length is ", length, " of ", longest);
    std::vector<Datum> out = scan_pass(c, body, std::move(one), static_cast<std::size_t>(scanned), "", length);
    for (std::size_t i = 0; i < out.size(); ++i) {
      Value value = out[i].value();
      if (i >= in.size() - static_cast<std::size_t>(scanned) && length < longest) {  // zeros behind the shorter ones
        Dims before = Dims::filled(value.rank(), 0), after = before;
        after[0] = longest - length;
        value = pad(value, before, after);
      }
      of_outputs[i].push_back({value, out[i].element()});
    }
  }
  std::vector<Datum> all;
  for (std::size_t i = 0; i < of_outputs.size(); ++i)
    all.push_back(stacked(c, std::move(of_outputs[i]), 0, false, output_info(body, i)));
  return Results(std::move(all));
}

Results sequence_map(Call& c) {
  const Graph& body = c.subgraph("body");
  const std::size_t count = c.datum(0).items().size();
  std::vector<std::vector<Datum>> lists(body.outputs.size());
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<Datum> in;
    for (const Datum& operand : c.in) {
      const bool each = operand.kind() == Datum::Kind::Sequence;
      c.check(!each || operand.items().size() == count, "sequences of ", count, " and of ", operand);
      in.push_back(each ? operand.items()[i] : operand);
    }
    std::vector<Datum> out = c.run(body, std::move(in));
    for (std::size_t o = 0; o < out.size(); ++o) lists[o].push_back(std::move(out[o]));
  }
  std::vector<Datum> all;
  for (std::size_t o = 0; o < lists.size(); ++o)
    all.push_back(Datum::sequence(std::move(lists[o]), output_info(body, o).type.element));
  return Results(std::move(all));
}

constexpr OperatorRow kControlRows[] = {
    {"If", 1, branch, {.rank = ResultRank::OfData}},
    {"Loop", 1, loop, {.rank = ResultRank::OfData}},
    {"Scan", 8, scan, {.rank = ResultRank::OfData}},
    {"SequenceMap", 17, sequence_map},
};

}  // namespace

std::span<const OperatorRow> control_rows() { return kControlRows; }

}  // namespace kiln::onnx
