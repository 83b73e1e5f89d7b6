// Examples that between them run every branch and body of a graph, as far as trying finds them.
#include <algorithm>

#include "kiln/onnx/generate/program.hpp"
#include "kiln/ops/functions.hpp"

namespace kiln::onnx::cpp {
namespace {

constexpr int kMostTries = 64;
constexpr std::int64_t kMostTripsOfTry = 4096;  // inputs that are tried may keep a loop going for long

// Lists the graphs of all nodes, with descriptions.
void list_bodies(const Graph& graph, std::vector<std::pair<const Graph*, std::string>>& list) {
  for (const Node& node : graph.nodes)
    for (const auto& [name, attribute] : node.attributes)
      for (const auto& inner : attribute.graphs) {
        list.emplace_back(inner.get(), text("the ", name, " of ", described(node)));
        list_bodies(*inner, list);
      }
}

// Inputs like x that may take another branch: conditions are made of booleans, of counts, and of signs and sizes.
Values others_than(const Value& x) {
  const auto filled = [&](double number) { return full(x.shape(), number, x.device(), x.dtype()); };
  if (x.dtype() == DType::Bool) return {logical_not(x), filled(0), filled(1)};
  if (is_integer(x.dtype())) return {filled(0), filled(1), filled(2), filled(3), filled(7)};
  return {neg(x), filled(0), x * 64, x * -64};
}

// Adds the observations of another run. A type stays known where both runs have it.
void join(Observed& all, Observed&& other) {
  for (std::size_t i = 0; i < all.values.size(); ++i) {
    Observed::Seen &now = all.values[i], &next = other.values[i];
    if (now.kind == Datum::Kind::Absent) now = next;
    if (next.kind == Datum::Kind::Absent || now == next) continue;
    if (now.element != next.element) now.element = Element::Undefined;
    now.sure = false;
  }
  all.negative.merge(other.negative);
  all.ran.merge(other.ran);
}

}  // namespace

Examples examples_of(const Graph& graph, const std::vector<Datum>& inputs, const RunContext& context) {
  Examples made;
  made.observed = observe(graph, inputs, context);
  std::vector<std::pair<const Graph*, std::string>> bodies;
  list_bodies(graph, bodies);
  const auto is_new = [&](const std::set<const Graph*>& ran) {
    return std::any_of(ran.begin(), ran.end(), [&](const Graph* each) { return !made.observed.ran.count(each); });
  };
  const auto all_ran = [&] {
    return std::all_of(bodies.begin(), bodies.end(),
                       [&](const auto& each) { return made.observed.ran.count(each.first); });
  };
  const bool runs =
      !made.observed.outputs.empty() || (inputs.size() >= graph.inputs.size() && made.observed.why_not.empty());
  if (runs) made.list.push_back({inputs, made.observed.outputs});
  const RunContext trial{context.device, context.file, kMostTripsOfTry};
  int tries = 0;
  // Every example that ran something new is varied, too: a branch may stand in a branch.
  for (std::size_t from = 0; from < made.list.size() && !all_ran(); ++from)
    for (std::size_t i = 0; i < inputs.size() && !all_ran(); ++i) {
      const Datum& input = made.list[from].inputs[i];
      if (!input.is_tensor() || input.is_string() || is_narrow(input.element())) continue;
      for (const Value& other : others_than(input.value())) {
        if (++tries > kMostTries || all_ran()) break;
        std::vector<Datum> changed = made.list[from].inputs;
        changed[i] = Datum(other, input.element());
        Observed seen = observe(graph, changed, trial);
        if (!seen.why_not.empty() || !is_new(seen.ran)) continue;
        made.list.push_back({std::move(changed), seen.outputs});
        join(made.observed, std::move(seen));
      }
    }
  for (const auto& [body, name] : bodies)
    if (!made.observed.ran.count(body)) made.unreached.push_back(name);
  return made;
}

}  // namespace kiln::onnx::cpp
