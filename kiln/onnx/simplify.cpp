#include "kiln/onnx/simplify.hpp"

#include <algorithm>
#include <cmath>

#include "kiln/core/error/error.hpp"
#include "kiln/ops/scope/no_grad.hpp"

namespace kiln::onnx {
namespace {

constexpr std::int64_t kMostFolded = 1 << 24;  // elements that a folded node may make

bool has_subgraphs(const Node& node) {
  return node.function || std::any_of(node.attributes.begin(), node.attributes.end(),
                                      [](const auto& entry) { return !entry.second.graphs.empty(); });
}

const Datum* constant_of(const Graph& graph, int value) {
  const auto found = graph.constants.find(value);
  const bool replaceable = std::count(graph.replaceable.begin(), graph.replaceable.end(), value) != 0;
  return found == graph.constants.end() || replaceable ? nullptr : &found->second;
}

// May the node make more than a multiple of what it reads? Then it is left to who runs the model.
bool makes_much(const Node& node, const Graph& graph) {
  static constexpr std::string_view kGrowing[] = {"Tile",
                                                  "Range",
                                                  "OneHot",
                                                  "Pad",
                                                  "Resize",
                                                  "Upsample",
                                                  "EyeLike",
                                                  "Col2Im",
                                                  "MaxUnpool",
                                                  "HannWindow",
                                                  "HammingWindow",
                                                  "BlackmanWindow",
                                                  "MelWeightMatrix",
                                                  "ConvTranspose",
                                                  "CenterCropPad",
                                                  "AffineGrid",
                                                  "ImageDecoder",
                                                  "DFT",
                                                  "STFT",
                                                  "Einsum",
                                                  "TfIdfVectorizer",
                                                  "SequenceInsert"};
  if (std::find(std::begin(kGrowing), std::end(kGrowing), node.op) != std::end(kGrowing)) return true;
  const bool by_shape = node.op == "ConstantOfShape" || node.op == "Expand" || node.op == "Reshape";
  std::int64_t elements = 1;
  if (by_shape && !node.inputs.empty()) {
    const Datum* const shape = constant_of(graph, node.inputs.back());
    if (!shape || !shape->is_tensor() || !is_integer(shape->value().dtype())) return true;
    for (const std::int64_t size : shape->value().data().to_vector<std::int64_t>())
      if (__builtin_mul_overflow(elements, std::max<std::int64_t>(size, 1), &elements)) return true;
    if (elements > kMostFolded) return true;
  }
  // What broadcasts may be as large as the product of its operands.
  std::int64_t product = 1;
  for (const int input : node.inputs)
    if (const Datum* const constant = input == kAbsent ? nullptr : constant_of(graph, input);
        constant && constant->is_tensor())
      if (__builtin_mul_overflow(product, std::max<std::int64_t>(constant->value().numel(), 1), &product)) return true;
  return product > (std::int64_t{1} << 40);
}

void replace_reads(Graph& graph, int from, int to) {
  for (Node& node : graph.nodes)
    for (int& input : node.inputs)
      if (input == from) input = to;
}

bool is_captured(const Graph& graph, int value) {
  for (const Node& node : graph.nodes)
    for (const auto& [name, attribute] : node.attributes)
      for (const auto& inner : attribute.graphs)
        for (const auto& capture : inner->captures)
          if (capture.outer == value) return true;
  return false;
}

bool is_output(const Graph& graph, int value) {
  return std::count(graph.outputs.begin(), graph.outputs.end(), value) != 0;
}

}  // namespace

void fold_constants(Graph& graph, const RunContext& context) {
  const NoGrad no_grad;
  Frame frame(graph.values.size());
  std::vector<Node> kept;
  for (Node& node : graph.nodes) {
    bool constant = !node.row || !node.row->random;
    constant = constant && node.row && !has_subgraphs(node) && node.op != "Gradient";
    for (const int input : node.inputs) constant = constant && (input == kAbsent || constant_of(graph, input));
    if (constant && !makes_much(node, graph)) {
      for (const int input : node.inputs)
        if (input != kAbsent) frame[static_cast<std::size_t>(input)] = *constant_of(graph, input);
      run_node(node, graph, frame, context);
      for (const int input : node.inputs)
        if (input != kAbsent) frame[static_cast<std::size_t>(input)] = {};
      for (const int output : node.outputs)
        if (output != kAbsent) graph.constants[output] = std::move(frame[static_cast<std::size_t>(output)]);
      continue;
    }
    kept.push_back(std::move(node));
  }
  graph.nodes = std::move(kept);
}

void remove_identities(Graph& graph) {
  std::vector<Node> kept;
  std::vector<std::pair<int, int>> replaced;
  for (const Node& node : graph.nodes) {
    const bool training = node.inputs.size() > 2 && node.inputs[2] != kAbsent;
    const auto is_test = node.attributes.find("is_test");
    const bool drops = node.version < 7 && (is_test == node.attributes.end() || is_test->second.i == 0);
    const bool nothing =
        node.domain.empty() && !node.function && node.inputs.size() > 0 && node.inputs[0] != kAbsent &&
        (node.op == "Identity" || (node.op == "Dropout" && !training && !drops)) &&
        std::count_if(node.outputs.begin(), node.outputs.end(), [](int o) { return o != kAbsent; }) == 1 &&
        node.outputs[0] != kAbsent;
    if (nothing && !is_output(graph, node.outputs[0]) && !is_captured(graph, node.outputs[0])) {
      replaced.emplace_back(node.outputs[0], node.inputs[0]);
      continue;
    }
    kept.push_back(node);
  }
  graph.nodes = std::move(kept);
  // In the order of the nodes: what an operand was replaced by is known before it is asked for.
  for (std::size_t i = 0; i < replaced.size(); ++i) {
    replace_reads(graph, replaced[i].first, replaced[i].second);
    for (std::size_t j = i + 1; j < replaced.size(); ++j)
      if (replaced[j].second == replaced[i].first) replaced[j].second = replaced[i].second;
  }
}

void fold_batch_norms(Graph& graph, const RunContext& context) {
  const NoGrad no_grad;
  std::vector<int> readers(graph.values.size()), maker(graph.values.size(), -1);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const int input : graph.nodes[n].inputs)
      if (input != kAbsent) ++readers[static_cast<std::size_t>(input)];
    for (const int output : graph.nodes[n].outputs)
      if (output != kAbsent) maker[static_cast<std::size_t>(output)] = static_cast<int>(n);
  }
  std::vector<bool> dropped(graph.nodes.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    Node& norm = graph.nodes[n];
    if (!norm.row || norm.op != "BatchNormalization" || norm.version < 7 || norm.inputs.size() != 5) continue;
    const auto option = [&](std::string_view name) {
      const auto found = norm.attributes.find(name);
      return found == norm.attributes.end() ? nullptr : &found->second;
    };
    if (option("training_mode") && option("training_mode")->i) continue;
    if (option("spatial") && !option("spatial")->i) continue;
    const auto wanted = std::count_if(norm.outputs.begin(), norm.outputs.end(), [](int o) { return o != kAbsent; });
    const int x = norm.inputs[0];
    if (wanted != 1 || norm.outputs[0] == kAbsent || x == kAbsent || maker[static_cast<std::size_t>(x)] < 0 ||
        readers[static_cast<std::size_t>(x)] != 1 || is_output(graph, x) || is_captured(graph, x))
      continue;
    const auto at = static_cast<std::size_t>(maker[static_cast<std::size_t>(x)]);
    Node& conv = graph.nodes[at];
    if (!conv.row || conv.op != "Conv" || conv.inputs.size() < 2 || dropped[at]) continue;
    std::vector<const Datum*> in;  // scale, bias, mean, variance, weight
    for (const int input : {norm.inputs[1], norm.inputs[2], norm.inputs[3], norm.inputs[4], conv.inputs[1]})
      in.push_back(input == kAbsent ? nullptr : constant_of(graph, input));
    const bool has_bias = conv.inputs.size() > 2 && conv.inputs[2] != kAbsent;
    in.push_back(has_bias ? constant_of(graph, conv.inputs[2]) : in[0]);
    const bool fits = std::all_of(
        in.begin(), in.end(), [&](const Datum* d) { return d && d->is_tensor() && d->element() == Element::Float; });
    if (!fits || in[4]->value().rank() < 3) continue;
    const std::int64_t channels = in[4]->value().dim(0);
    bool same = true;
    for (const int i : {0, 1, 2, 3, 5})
      same = same && in[static_cast<std::size_t>(i)]->value().shape() == Shape{channels};
    if (!same) continue;
    const Attribute* const epsilon = option("epsilon");
    const Value scale = in[0]->value() / sqrt(in[3]->value() + (epsilon ? static_cast<double>(epsilon->f) : 1e-5));
    const Value bias = has_bias ? in[5]->value() : zeros_like(scale);
    Shape spread = Shape::filled(in[4]->value().rank(), 1);
    spread[0] = channels;
    const int weight = graph.add_value(graph.values[static_cast<std::size_t>(conv.inputs[1])].name);
    const int shift = graph.add_value(graph.values[static_cast<std::size_t>(norm.inputs[2])].name);
    graph.constants[weight] = Datum(in[4]->value() * reshape(scale, spread));
    graph.constants[shift] = Datum((bias - in[2]->value()) * scale + in[1]->value());
    conv.inputs = {conv.inputs[0], weight, shift};
    conv.outputs = {norm.outputs[0]};
    maker[static_cast<std::size_t>(norm.outputs[0])] = static_cast<int>(at);
    maker.resize(graph.values.size(), -1);
    readers.resize(graph.values.size());
    dropped[n] = true;
  }
  std::vector<Node> kept;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n)
    if (!dropped[n]) kept.push_back(std::move(graph.nodes[n]));
  graph.nodes = std::move(kept);
  static_cast<void>(context);
}

void remove_unread(Graph& graph) {
  std::vector<bool> read(graph.values.size());
  const auto mark = [&](int value) {
    if (value != kAbsent) read[static_cast<std::size_t>(value)] = true;
  };
  for (const int output : graph.outputs) mark(output);
  std::vector<Node> kept;
  bool all =
      std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) { return node.op == "Gradient"; });
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    Node& node = graph.nodes[n];
    const bool wanted = std::any_of(node.outputs.begin(), node.outputs.end(), [&](int output) {
      return output != kAbsent && read[static_cast<std::size_t>(output)];
    });
    if (!wanted && !all) continue;
    for (const int input : node.inputs) mark(input);
    for (const auto& [name, attribute] : node.attributes)
      for (const auto& inner : attribute.graphs)
        for (const auto& capture : inner->captures) mark(capture.outer);
    kept.push_back(std::move(node));
  }
  std::reverse(kept.begin(), kept.end());
  graph.nodes = std::move(kept);
  if (all) return;
  std::erase_if(graph.constants, [&](const auto& entry) {
    return !read[static_cast<std::size_t>(entry.first)] &&
           !std::count(graph.replaceable.begin(), graph.replaceable.end(), entry.first);
  });
}

void simplify(Graph& graph, const RunContext& context) {
  remove_identities(graph);
  fold_constants(graph, context);
  fold_batch_norms(graph, context);
  remove_unread(graph);
  find_last_uses(graph);
}

}  // namespace kiln::onnx
