// The step from a file's messages to a graph that can run: names become numbers, nodes get their rows, calls of functions
// the function's graph. All errors of a hostile file are found here.
#include <algorithm>
#include <map>

#include "kiln/core/error/shown.hpp"
#include "kiln/core/error/suggest.hpp"
#include "kiln/onnx/attributes.hpp"
#include "kiln/onnx/order.hpp"
#include "kiln/onnx/table.hpp"

namespace kiln::onnx {

namespace {

using Versions = std::map<std::string, std::int64_t, std::less<>>;
using Bindings = Attributes;

constexpr std::size_t kDeepestCalls = 256;  // each takes memory on the stack

struct Scope {
  Graph* graph;
  std::map<std::string, int, std::less<>> names;
  Scope* outer;
};

class Builder {
 public:
  Builder(const ModelProto& model, const BuildOptions& options, const Device& device)
      : model_(model), options_(options), device_(device), reader_(options.file, options.directory, options.source) {}

  Graph build() {
    // Without one the operators would be those of the first version, as in the oldest files.
    if (model_.ir_version >= 3 && model_.opset_import.empty())
      wrong("it imports no operator set, as files of version ", model_.ir_version, " of the format do: it may be cut");
    const Versions versions = versions_of(model_.opset_import);
    for (const FunctionProto& function : model_.functions) {
      const bool fresh = functions_.emplace(key(function.domain, function.name, function.overload), &function).second;
      if (!fresh) wrong("function '", shown(function.name), "' of domain '", shown(function.domain), "' occurs twice");
    }
    Graph graph = graph_of(model_.graph, versions, nullptr, nullptr);
    return graph;
  }

  /// "ai.onnx 17 Frobnicate (nodes 'a', 'b')"
  Strings unsupported() const {
    Strings list;
    for (const auto& [name, nodes] : unsupported_) {
      std::string line = text(name, nodes.size() == 1 ? " (node " : " (nodes ");
      for (std::size_t i = 0; i < nodes.size(); ++i) line += text(i ? ", '" : "'", shown(nodes[i]), "'");
      list.push_back(line + ")");
    }
    return list;
  }

 private:
  template <class... Parts>
  [[noreturn]] void wrong(const Parts&... what) const {
    fail<LoadError>(shown(options_.file), ": ", what...);
  }
  static std::string key(std::string_view domain, std::string_view name, std::string_view overload) {
    return text(domain_of(domain), '\n', name, '\n', overload);
  }

  Versions versions_of(const std::vector<OperatorSetId>& sets) const {
    Versions versions;
    for (const OperatorSetId& set : sets) {
      const std::string domain(domain_of(set.domain));
      if (set.version < 1) wrong("operator set ", shown(set.domain), " has the version ", set.version);
      const int newest = newest_version(domain);
      if (newest && set.version > newest)
        wrong("operator set ", domain.empty() ? "ai.onnx" : shown(domain), " ", set.version,
              " is newer than the newest that Kiln knows, ", newest);
      // Files that programs put together of others say the same more than once.
      const auto [known, fresh] = versions.emplace(domain, set.version);
      if (!fresh && known->second != set.version)
        wrong("operator set '", domain.empty() ? "ai.onnx" : shown(domain), "' is imported twice, as version ",
              known->second, " and as version ", set.version);
    }
    if (sets.empty()) versions.emplace("", 1);  // files of the first version of the format name none
    return versions;
  }

  // ---- graphs -----------------------------------------------------------------------------------------------------
  Graph graph_of(const GraphProto& proto, const Versions& versions, Scope* outer, const Bindings* bindings) {
    Graph graph;
    graph.name = proto.name;
    graph.is_inner = outer != nullptr;
    Scope scope{&graph, {}, outer};
    for (const ValueInfoProto& input : proto.input) graph.inputs.push_back(define(scope, input.name, input.type));
    for (const TensorProto& tensor : proto.initializer)
      add_constant(scope, tensor.name, datum_of(tensor, reader_, device_));
    for (const SparseTensorProto& tensor : proto.sparse_initializer)
      add_constant(scope, tensor.values.name, datum_of(tensor, reader_, device_));
    // Since version 4 of the format what is an input and a constant may be replaced by the caller; before, all
    // constants were inputs.
    std::erase_if(graph.inputs, [&](int input) {
      const bool constant = graph.constants.count(input) != 0;
      if (constant && model_.ir_version >= 4) graph.replaceable.push_back(input);
      return constant;
    });
    std::map<std::string_view, const TypeProto*> types;
    for (const ValueInfoProto& value : proto.value_info) types[value.name] = &value.type;
    for (const ValueInfoProto& value : proto.output) types[value.name] = &value.type;
    add_nodes(scope, proto.node, versions, bindings, types);
    for (const ValueInfoProto& output : proto.output) {
      const int value = output.name.empty() ? kAbsent : resolve(scope, output.name);
      if (value == kAbsent)
        wrong("no node computes the output '", shown(output.name), "' of graph '", shown(proto.name), "'");
      graph.outputs.push_back(value);
      ValueInfo& info = graph[value];
      if (info.type.kind == TypeProto::Kind::None) info.type = output.type;
    }
    find_last_uses(graph);
    return graph;
  }

  std::shared_ptr<const Graph> function_graph(const FunctionProto& function, Bindings bindings) {
    const std::string name = key(function.domain, function.name, function.overload);
    if (std::find(calls_.begin(), calls_.end(), name) != calls_.end())
      wrong("function '", shown(function.name), "' calls itself");
    if (calls_.size() == kDeepestCalls)
      wrong("functions call each other more than ", kDeepestCalls, " deep, at '", shown(function.name), "'");
    calls_.push_back(name);
    const Versions versions = versions_of(function.opset_import);
    for (const AttributeProto& attribute : function.attribute_proto)
      if (!bindings.count(attribute.name))
        bindings.emplace(attribute.name, attribute_of(attribute, versions, nullptr, nullptr));
    auto graph = std::make_shared<Graph>();
    graph->name = function.name;
    Scope scope{graph.get(), {}, nullptr};
    for (const std::string& input : function.input) graph->inputs.push_back(define(scope, input, {}));
    add_nodes(scope, function.node, versions, &bindings, {});
    for (const std::string& output : function.output) {
      const int value = resolve(scope, output);
      if (value == kAbsent)
        wrong("no node computes the output '", shown(output), "' of function '", shown(function.name), "'");
      graph->outputs.push_back(value);
    }
    calls_.pop_back();
    find_last_uses(*graph);
    return graph;
  }

  // ---- names ------------------------------------------------------------------------------------------------------
  int define(Scope& scope, const std::string& name, const TypeProto& type) const {
    if (name.empty()) wrong("a value of graph '", shown(scope.graph->name), "' has no name");
    const int value = scope.graph->add_value(name, type);
    if (!scope.names.emplace(name, value).second)
      wrong("the value '", shown(name), "' of graph '", shown(scope.graph->name), "' is computed twice");
    for (const Scope* outer = scope.outer; outer; outer = outer->outer)
      if (outer->names.count(name))
        wrong("the value '", shown(name), "' of graph '", shown(scope.graph->name),
              "' has the name of a value of the graph around it");
    return value;
  }

  void add_constant(Scope& scope, const std::string& name, Datum datum) const {
    const auto input = scope.names.find(name);
    const bool is_input =
        input != scope.names.end() && std::count(scope.graph->inputs.begin(), scope.graph->inputs.end(), input->second);
    const int value = is_input ? input->second : define(scope, name, {});
    if (!scope.graph->constants.emplace(value, std::move(datum)).second)
      wrong("the initializer '", shown(name), "' occurs twice");
  }

  // The number of a name; of one that an outer graph has, that of its capture. kAbsent where no graph has it.
  static int resolve(Scope& scope, const std::string& name) {
    const auto found = scope.names.find(name);
    if (found != scope.names.end()) return found->second;
    const int outer = scope.outer ? resolve(*scope.outer, name) : kAbsent;
    if (outer == kAbsent) return kAbsent;
    const TypeProto type = (*scope.outer->graph)[outer].type;
    const int inner = scope.graph->add_value(name, type);
    scope.names.emplace(name, inner);
    scope.graph->captures.push_back({outer, inner});
    return inner;
  }

  // ---- nodes ------------------------------------------------------------------------------------------------------
  void add_nodes(Scope& scope, const std::vector<NodeProto>& nodes, const Versions& versions, const Bindings* bindings,
                 const std::map<std::string_view, const TypeProto*>& types) {
    const auto is_there = [&](std::string_view name) { return scope.names.find(name) != scope.names.end(); };
    for (const std::size_t n : order_of(nodes, is_there, scope.graph->name, options_.file)) {
      const NodeProto& proto = nodes[n];
      if (++count_ > options_.most_nodes)
        wrong("more than ", options_.most_nodes, " nodes, those of functions counted once for each call");
      Node node;
      node.name = proto.name.empty() ? text("#", n) : proto.name;
      node.op = proto.op_type;
      node.domain = std::string(domain_of(proto.domain));
      for (const std::string& input : proto.input) {
        const int value = input.empty() ? kAbsent : resolve(scope, input);
        if (value == kAbsent && !input.empty()) {
          std::vector<std::string_view> known;
          for (const auto& [name, number] : scope.names) known.push_back(name);
          wrong(described(node), ", reads '", shown(input), "', which no node computes", did_you_mean(input, known));
        }
        node.inputs.push_back(value);
      }
      for (const AttributeProto& attribute : proto.attribute) {
        Attribute made;
        if (attribute.ref_attr_name.empty()) {
          made = attribute_of(attribute, versions, &scope, bindings);
        } else {
          if (!bindings)
            wrong(described(node), ": attribute '", shown(attribute.name),
                  "' belongs to a function, but this is not inside one");
          const auto bound = bindings->find(attribute.ref_attr_name);
          if (bound == bindings->end()) continue;  // left out by the caller, and so here
          made = bound->second;
        }
        if (!node.attributes.emplace(attribute.name, std::move(made)).second)
          wrong(described(node), ": attribute '", shown(attribute.name), "' occurs twice");
      }
      find_operator(node, proto, versions);
      for (const std::string& output : proto.output) {
        const auto type = types.find(output);
        node.outputs.push_back(
            output.empty() ? kAbsent : define(scope, output, type == types.end() ? TypeProto() : *type->second));
      }
      scope.graph->nodes.push_back(std::move(node));
    }
  }

  void find_operator(Node& node, const NodeProto& proto, const Versions& versions) {
    const auto function = functions_.find(key(node.domain, node.op, proto.overload));
    if (function != functions_.end()) {
      const FunctionProto& called = *function->second;
      if (node.inputs.size() > called.input.size())
        wrong(described(node), ": the function takes ", called.input.size(), " inputs, not ", node.inputs.size());
      if (proto.output.size() > called.output.size())
        wrong(described(node), ": the function gives ", called.output.size(), " outputs, not ", proto.output.size());
      Bindings bindings;
      for (const auto& [name, attribute] : node.attributes) bindings.emplace(name, attribute);
      node.function = function_graph(called, std::move(bindings));
      return;
    }
    const auto version = versions.find(node.domain);
    if (version == versions.end())
      wrong(described(node), ": the operator set of domain '", node.domain.empty() ? "ai.onnx" : shown(node.domain),
            "' is not imported");
    node.version = version->second;
    node.row = find_row(node.domain, node.op, node.version);
    const std::string lacks = node.row && node.row->traits.lacks ? node.row->traits.lacks(node) : "";
    if (!node.row || !lacks.empty())
      unsupported_[text(node.domain.empty() ? "ai.onnx" : shown(node.domain), " ", node.version, " ", shown(node.op),
                        lacks.empty() ? "" : " with ", lacks)]
          .push_back(node.name);
    if (!node.row) return;
    const std::string found = wrong_attribute(node);
    if (!found.empty()) wrong(described(node), ": ", found);
  }

  Attribute attribute_of(const AttributeProto& proto, const Versions& versions, Scope* scope,
                         const Bindings* bindings) {
    using Type = AttributeProto::Type;
    Attribute attribute = static_cast<const PlainAttribute&>(proto);
    for (const TensorProto& tensor : proto.tensors) attribute.tensors.push_back(datum_of(tensor, reader_, device_));
    for (const SparseTensorProto& tensor : proto.sparse_tensors)
      attribute.tensors.push_back(datum_of(tensor, reader_, device_));
    for (const auto& graph : proto.graphs)
      attribute.graphs.push_back(std::make_shared<Graph>(graph_of(*graph, versions, scope, bindings)));
    const bool has_one = proto.type == Type::Tensor         ? !proto.tensors.empty()
                         : proto.type == Type::SparseTensor ? !proto.sparse_tensors.empty()
                         : proto.type == Type::Graph        ? !proto.graphs.empty()
                         : proto.type == Type::Type         ? !proto.types.empty()
                                                            : true;
    if (!has_one) wrong("the attribute '", shown(proto.name), "' does not have a value of its type");
    return attribute;
  }

  const ModelProto& model_;
  const BuildOptions& options_;
  const Device device_;
  TensorReader reader_;
  std::map<std::string, const FunctionProto*> functions_;
  Strings calls_;  // the functions whose graphs are being built, from the outside in
  std::int64_t count_ = 0;
  std::map<std::string, Strings> unsupported_;  // nodes, by operator
};

}  // namespace

Graph build(const ModelProto& model, const BuildOptions& options, const Device& device) {
  Builder builder(model, options, device);
  Graph graph = builder.build();
  const Strings unsupported = builder.unsupported();
  if (!unsupported.empty()) {
    std::string list;
    for (const std::string& line : unsupported) list += text(list.empty() ? "" : "; ", line);
    fail<LoadError>(shown(options.file), ": Kiln does not have these operators: ", list);
  }
  return graph;
}

Strings unsupported_operators(const ModelProto& model, const BuildOptions& options, const Device& device) {
  Builder builder(model, options, device);
  builder.build();
  return builder.unsupported();
}

}  // namespace kiln::onnx
