// The step from nodes to statements. Nodes that neither forms/ nor layers.cpp have a form for become calls of apply().
#include <algorithm>
#include <numeric>

#include "kiln/core/error/shown.hpp"
#include "kiln/onnx/generate/lowering.hpp"

namespace kiln::onnx::cpp {

Path split(std::string_view name, char at) {
  Path parts(1);
  for (const char c : name) {
    if (c == at) parts.emplace_back();
    else parts.back() += c;
  }
  std::erase(parts, "");
  return parts;
}

std::string name_of(const Type& type) {
  if (!type.is_tensor()) return "onnx::Datum";
  const char* const kind = type.kind == kiln::Kind::Int ? ", Int" : type.kind == kiln::Kind::Bool ? ", Bool" : "";
  return text("Tensor<", type.rank, kind, ">");
}

Lowering::Lowering(const Graph& graph, const Observed& observed, std::string file)
    : graph_(graph), observed_(observed), file_(std::move(file)) {
  shapes_ = infer_shapes(graph);
  for (std::size_t value = 0; value < graph.values.size(); ++value) {
    const Observed::Seen& seen = observed.values[value];
    Variable variable{graph.values[value].name, {}, seen.element, shapes_.of[value]};
    const bool plain = seen.kind == Datum::Kind::Tensor && seen.element != Element::String && !is_narrow(seen.element);
    if (plain && seen.sure && seen.rank <= kMaxRank) variable.type = {seen.rank, kind_of(dtype_of(seen.element))};
    program_.values.push_back(std::move(variable));
  }
  readers_.resize(graph.values.size());
  counts_.resize(graph.values.size());
  const auto read = [&](int value, const Node* reader) {
    if (value == kAbsent) return;
    ++counts_[static_cast<std::size_t>(value)];
    readers_[static_cast<std::size_t>(value)] = reader;
  };
  for (const Node& node : graph.nodes) {
    for (const int input : node.inputs) read(input, &node);
    each_capture(node,
                 [&](const Graph::Capture& capture) { read(capture.outer, nullptr), read(capture.outer, nullptr); });
  }
  for (const int output : graph.outputs) read(output, nullptr);
  for (std::size_t value = 0; value < counts_.size(); ++value)
    if (counts_[value] != 1) readers_[value] = nullptr;
}

const Node* Lowering::only_reader(int value) const {
  return value == kAbsent ? nullptr : readers_[static_cast<std::size_t>(value)];
}

const PartialShape* Lowering::numbers(int value) const {
  const auto found = shapes_.numbers.find(value);
  return found == shapes_.numbers.end() ? nullptr : &found->second;
}

const Node* Lowering::maker(int value) const {
  for (const Node& node : graph_.nodes)
    if (std::find(node.outputs.begin(), node.outputs.end(), value) != node.outputs.end()) return &node;
  return nullptr;
}
int Lowering::add_variable(const std::string& name) {
  program_.values.push_back({name, {}, {}, {}});
  return static_cast<int>(program_.values.size()) - 1;
}

// Exporters write the modules around a node into its name: /layer1/layer1.0/conv1/Conv. A part may begin with the one
// before it.
Path Lowering::scope_of(const Node& node) {
  const Path parts = split(node.name, '/');
  Path scope;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    std::string_view part = parts[i];
    if (i > 0 && part.size() > parts[i - 1].size() && part.starts_with(parts[i - 1]) &&
        part[parts[i - 1].size()] == '.')
      part.remove_prefix(parts[i - 1].size() + 1);
    for (std::string& each : split(part, '.')) scope.push_back(std::move(each));
  }
  return scope;
}

// Gradient needs the nodes of its graph, which a program does not have.
void Lowering::check(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (node.op == "Gradient") wrong_.push_back(described(node));
    each_graph(node, [&](const auto& inner) { check(*inner); });
  }
}

// Every layer gets a path of its own: where others stand at its path or below it, the name of its kind is added.
void Lowering::settle_paths() {
  std::map<Path, int> count;
  std::set<Path> around;
  for (const Layer& layer : program_.layers) {
    ++count[layer.path];
    for (std::size_t i = 1; i < layer.path.size(); ++i)
      around.insert(Path(layer.path.begin(), layer.path.begin() + static_cast<std::ptrdiff_t>(i)));
  }
  std::set<Path> taken;
  for (std::size_t i = 0; i < program_.layers.size(); ++i) {
    Path& path = program_.layers[i].path;
    const std::string& own = program_.layers[i].fallback;
    if ((count[path] > 1 || around.count(path)) && path.back() != own) path.push_back(own);
    const std::string last = path.back();
    for (int n = 2; around.count(path) || !taken.insert(path).second; ++n) path.back() = text(last, '_', n);
  }
}

void Lowering::drop_unread() {
  std::vector<bool> read(program_.values.size()), used(program_.layers.size());
  const auto mark = [&](const Code& reference) {
    (reference.kind == Code::Kind::Value ? read : used)[static_cast<std::size_t>(reference.number)] = true;
  };
  for (const Code& result : program_.results) each_reference(result, mark);
  std::vector<Statement> kept;
  for (std::size_t n = program_.statements.size(); n-- > 0;) {
    Statement& statement = program_.statements[n];
    if (std::none_of(statement.results.begin(), statement.results.end(),
                     [&](int value) { return read[static_cast<std::size_t>(value)]; }))
      continue;
    each_reference(statement, mark);
    kept.push_back(std::move(statement));
  }
  std::reverse(kept.begin(), kept.end());
  program_.statements = std::move(kept);
  drop_layers(used);
}

// Removes layers that only dropped statements had, and renumbers the references to the others.
void Lowering::drop_layers(const std::vector<bool>& used) {
  std::vector<int> numbers(program_.layers.size(), -1);
  std::vector<Layer> layers;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!used[i]) continue;
    numbers[i] = static_cast<int>(layers.size());
    layers.push_back(std::move(program_.layers[i]));
  }
  program_.layers = std::move(layers);
  const auto renumber = [&](Code& reference) {
    if (reference.kind == Code::Kind::Layer) reference.number = numbers[static_cast<std::size_t>(reference.number)];
  };
  for (Statement& statement : program_.statements) each_reference(statement, renumber);
  for (Code& result : program_.results) each_reference(result, renumber);
}

Program Lowering::run() {
  check(graph_);
  Body main{graph_, std::vector<int>(graph_.values.size())};
  std::iota(main.values.begin(), main.values.end(), 0);
  program_.inputs = graph_.inputs;
  for (const Node& node : graph_.nodes) {
    if (skipped_.count(&node)) continue;
    const Site site{*this, node};
    MaybeStatement statement = layer_of(site);
    if (!statement) statement = form_of(site);
    if (!statement) statement = node.op == "If" && node.domain.empty() ? branch(node, main) : generic(node, main);
    if (statement->scope.empty()) statement->scope = scope_of(node);
    if (statement->results.empty()) statement->results = {node.outputs[0]};
    program_.statements.push_back(std::move(*statement));
  }
  Node giver;
  for (const int output : graph_.outputs) {
    const NodeInput result = operand(output, giver);
    program_.results.push_back(result.code);
    program_.result_types.push_back(result.type);
    program_.result_names.push_back(output == kAbsent ? "" : graph_[output].name);
  }
  if (!wrong_.empty()) {
    std::string list;
    for (const std::string& line : wrong_) list += (list.empty() ? "" : "; ") + line;
    fail<LoadError>(shown(file_), ": these nodes cannot be written as C++: ", list);
  }
  drop_unread();
  settle_paths();
  return std::move(program_);
}

Program lower(const Graph& graph, const Observed& observed, const std::string& file) {
  return Lowering(graph, observed, file).run();
}

}  // namespace kiln::onnx::cpp
