#include "kiln/onnx/order.hpp"

#include <map>
#include <set>

#include "kiln/core/error/shown.hpp"

namespace kiln::onnx {
namespace {

// The names that a node reads: its inputs, and what its sub-graphs read of graphs around them.
void add_reads(const NodeProto& node, std::set<std::string_view>& reads) {
  for (const std::string& input : node.input) reads.insert(input);
  for (const AttributeProto& attribute : node.attribute)
    for (const auto& graph : attribute.graphs) {
      std::set<std::string_view> inner;
      for (const NodeProto& each : graph->node) add_reads(each, inner);
      for (const ValueInfoProto& output : graph->output) inner.insert(output.name);
      for (const NodeProto& each : graph->node)
        for (const std::string& made : each.output) inner.erase(made);
      for (const ValueInfoProto& input : graph->input) inner.erase(input.name);
      for (const TensorProto& constant : graph->initializer) inner.erase(constant.name);
      reads.insert(inner.begin(), inner.end());
    }
}

}  // namespace

std::vector<std::size_t> order_of(const std::vector<NodeProto>& nodes, FunctionRef<bool(std::string_view)> is_there,
                                  std::string_view graph, std::string_view file) {
  const auto wrong = [&](const auto&... what) { fail<LoadError>(shown(file), ": ", what...); };
  std::map<std::string_view, std::size_t> makers;
  for (std::size_t n = 0; n < nodes.size(); ++n)
    for (const std::string& output : nodes[n].output)
      if (!output.empty() && !makers.emplace(output, n).second)
        wrong("the value '", shown(output), "' is computed twice: by nodes '", shown(nodes[makers[output]].name),
              "' and '", shown(nodes[n].name), "'");
  std::vector<std::vector<std::size_t>> readers(nodes.size());
  std::vector<std::size_t> missing(nodes.size());
  bool sorted = true;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    std::set<std::string_view> reads;
    add_reads(nodes[n], reads);
    for (const std::string_view name : reads) {
      const auto maker = makers.find(name);
      if (maker == makers.end() || is_there(name)) continue;
      readers[maker->second].push_back(n);
      ++missing[n];
      sorted = sorted && maker->second < n;
    }
  }
  std::vector<std::size_t> order;
  if (sorted) {
    for (std::size_t n = 0; n < nodes.size(); ++n) order.push_back(n);
    return order;
  }
  std::set<std::size_t> ready;
  for (std::size_t n = 0; n < nodes.size(); ++n)
    if (!missing[n]) ready.insert(n);
  while (!ready.empty()) {
    const std::size_t n = *ready.begin();
    ready.erase(ready.begin());
    order.push_back(n);
    for (const std::size_t reader : readers[n])
      if (--missing[reader] == 0) ready.insert(reader);
  }
  for (std::size_t n = 0; n < nodes.size(); ++n)
    if (missing[n])
      wrong("node '", shown(nodes[n].name), "', operator ", shown(nodes[n].op_type),
            ", depends on its own result: the graph '", shown(graph), "' has a cycle");
  return order;
}

}  // namespace kiln::onnx
