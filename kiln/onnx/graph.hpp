// Graph: an ONNX graph as data. Values are numbers into a list; nodes stand in an order in which they can run; each
// node knows the row of the operator table that runs it, or the graph of the function that it calls. A sub-graph (the
// body of a Loop, a branch of an If) has values of its own, and says which of them are values of the graph around it.
//
//   load    bytes -> ModelProto (parse.cpp) -> Graph (build.cpp) -> simplify(graph) (passes/)
//   run     Frame{a Datum for each value}; for each node: row.run(Call{...}) (interpreter.cpp)
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kiln/core/function_ref.hpp"
#include "kiln/onnx/datum.hpp"

namespace kiln::onnx {

struct Graph;
struct OperatorRow;

inline constexpr int kAbsent = -1;

/// An attribute of a node; the field of its type is set.
struct Attribute : PlainAttribute {
  using PlainAttribute::PlainAttribute;
  Attribute(PlainAttribute plain = PlainAttribute()) : PlainAttribute(std::move(plain)) {}
  Attribute(Datum tensor) : PlainAttribute(Type::Tensor), tensors{std::move(tensor)} {}

  std::vector<Datum> tensors;
  std::vector<std::shared_ptr<const Graph>> graphs;
};
using Attributes = std::map<std::string, Attribute, std::less<>>;

struct Node {
  std::string name, op, domain;
  std::int64_t version = 0;          // the version of its operator set
  std::vector<int> inputs, outputs;  // values, or kAbsent
  Attributes attributes;
  const OperatorRow* row = nullptr;
  std::shared_ptr<const Graph> function;  // what a call of a function runs, in place of a row
  std::vector<int> last_uses;             // values that no later node reads
};

struct ValueInfo {
  std::string name;
  TypeProto type;  // as declared; Kind::None where the file says nothing
};

struct Graph {
  struct Capture {
    int outer, inner;
  };
  std::string name;
  bool is_inner = false;  // a sub-graph of a node, whose inputs are not checked against their declared types
  std::vector<ValueInfo> values;
  std::vector<int> inputs, outputs;
  std::map<int, Datum> constants;  // initializers, and what was folded
  std::vector<int> replaceable;    // constants that are inputs as well: a caller may give others
  std::vector<Capture> captures;
  std::vector<Node> nodes;
  std::function<std::vector<Datum>(std::vector<Datum>)> code;  // what runs in place of the nodes: see apply.hpp

  int add_value(std::string name, TypeProto type = {});
  ValueInfo& operator[](int value) { return values[static_cast<std::size_t>(value)]; }
  const ValueInfo& operator[](int value) const { return values[static_cast<std::size_t>(value)]; }
};

/// Calls f(graph) for each graph that a node has as an attribute.
template <class N, class F>
void each_graph(N& node, F&& f) {
  for (auto& [name, attribute] : node.attributes)
    for (auto& inner : attribute.graphs) f(inner);
}
/// Calls f(capture) for each value of the graph around that such a graph reads.
template <class F>
void each_capture(const Node& node, F&& f) {
  each_graph(node, [&](const auto& inner) {
    for (const Graph::Capture& capture : inner->captures) f(capture);
  });
}
/// Does it hold for a node of the graph, of functions that it calls, or of graphs inside?
bool any_node(const Graph& graph, FunctionRef<bool(const Node&)> holds);

/// Null where the node has no such attribute.
const Attribute* find_attribute(const Node& node, std::string_view name);
std::int64_t int_attribute(const Node& node, std::string_view name, std::int64_t otherwise);
std::string string_attribute(const Node& node, std::string_view name, std::string_view otherwise);

/// "node 'conv1', operator Conv" (with the domain where it is not ai.onnx).
std::string described(const Node& node);

/// "ai.onnx" and "" are one domain: "".
std::string_view domain_of(std::string_view domain);

struct BuildOptions {
  std::string file;       // for sentences
  std::string directory;  // the directory of external data
  FileBytes source = {};  // what the model was parsed from, where that stays as it is
  std::int64_t most_nodes =
      1'000'000;  // functions called by functions included: what a few lines can ask for is bounded
};

/// The graph of a model, checked: every input is made by something before it, no name is given twice, no function calls
/// itself, every operator is known. Throws LoadError with the file, the node, the operator and the reason; one that
/// names all unknown operators with their nodes.
Graph build(const ModelProto& model, const BuildOptions& options, const Device& device);

/// The operators of a model that no row runs: "ai.onnx 17 Frobnicate (nodes 'a', 'b')". Empty where all are known.
Strings unsupported_operators(const ModelProto& model, const BuildOptions& options, const Device& device);

/// Finds again which values are used last where. After a change of nodes.
void find_last_uses(Graph& graph);

}  // namespace kiln::onnx
