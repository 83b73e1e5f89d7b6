#include "kiln/onnx/passes/rewrite.hpp"
#include "kiln/onnx/passes/shapes.hpp"

namespace kiln::onnx {
namespace {

// q k^T, scaled: as a whole, or each of them by a root of the scale.
struct Scores {
  int q = kAbsent, k = kAbsent;
  double scale = 1;
};

// x of x * number or x / number; x itself where it is neither.
int unscaled(Patterns& patterns, int value, double& scale) {
  if (const Node* const div = patterns.inner(value, "Div"); div && div->inputs.size() == 2)
    if (const auto number = patterns.number(div->inputs[1]); number && *number != 0) {
      scale /= *number;
      return div->inputs[0];
    }
  if (const Node* const mul = patterns.inner(value, "Mul"); mul && mul->inputs.size() == 2)
    for (const int input : mul->inputs)
      if (const auto number = patterns.number(input)) {
        scale *= *number;
        return Patterns::other(*mul, input);
      }
  return value;
}

Scores scores_of(Patterns& patterns, int value) {
  Scores found;
  const Node* const product = patterns.inner(unscaled(patterns, value, found.scale), "MatMul");
  if (!product || product->inputs.size() != 2) return {};
  found.q = unscaled(patterns, product->inputs[0], found.scale);
  found.k = unscaled(patterns, product->inputs[1], found.scale);
  return found;
}

bool is_known(const std::optional<PartialShape>& shape, std::size_t rank) { return shape && shape->size() == rank; }

// Does a mask broadcast to the scores, with all keys, and not beyond them?
bool spreads(const std::optional<PartialShape>& mask, const PartialShape& scores) {
  if (!mask || mask->empty() || mask->size() > scores.size() || !is_same(mask->back(), scores.back())) return false;
  for (std::size_t i = 1; i <= mask->size(); ++i) {
    const Dim& dim = (*mask)[mask->size() - i];
    if (!(dim.value && *dim.value == 1) && !is_same(dim, scores[scores.size() - i])) return false;
  }
  return true;
}

}  // namespace

void find_attention(Graph& graph) {
  const Shapes shapes = infer_shapes(graph);
  Patterns patterns(graph);
  std::vector<std::pair<std::size_t, Node>> of_keys;  // transpositions that keys need, and before which node
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    Node& node = graph.nodes[n];
    if (!node.row || !node.domain.empty() || node.op != "MatMul" || node.inputs.size() != 2) continue;
    const int v = node.inputs[1];
    const Node* const softmax = patterns.inner(node.inputs[0], "Softmax");
    if (!softmax || softmax->version < 13 || !is_known(shapes[v], 4)) continue;
    if (const std::int64_t axis = int_attribute(*softmax, "axis", -1); axis != -1 && axis != 3) continue;
    int mask = kAbsent;
    Scores scores = scores_of(patterns, softmax->inputs[0]);
    if (const Node* const sum = scores.q == kAbsent ? patterns.inner(softmax->inputs[0], "Add") : nullptr)
      for (const int part : sum->inputs)
        if (scores.q == kAbsent) scores = scores_of(patterns, part), mask = Patterns::other(*sum, part);
    if (scores.q == kAbsent || !is_known(shapes[scores.q], 4) || scores.scale <= 0) continue;
    const Node* const transpose = patterns.maker(scores.k, "Transpose");
    if (!transpose || !is_known(shapes[transpose->inputs[0]], 4)) continue;
    const Ints order = find_attribute(*transpose, "perm") ? find_attribute(*transpose, "perm")->ints : Ints();
    int k = transpose->inputs[0];
    const bool plain = order == Ints{0, 1, 3, 2}, of_heads = order == Ints{0, 2, 3, 1};
    if (!plain && !of_heads) continue;
    // All three have the same batch and heads, and keys as many values: MatMul would broadcast where Attention does not.
    const PartialShape &q_shape = *shapes[scores.q], &k_shape = *shapes[k], &v_shape = *shapes[v];
    const Dim &heads = k_shape[plain ? 1 : 2], &keys = k_shape[plain ? 2 : 1];
    if (!is_same(q_shape[0], k_shape[0]) || !is_same(k_shape[0], v_shape[0]) || !is_same(q_shape[1], heads) ||
        !is_same(heads, v_shape[1]) || !is_same(keys, v_shape[2]))
      continue;
    if (mask != kAbsent && !spreads(shapes[mask], {q_shape[0], q_shape[1], q_shape[2], keys})) continue;
    if (of_heads) {
      Node added = *transpose;
      added.name += "_of_keys";
      added.attributes["perm"] = Ints{0, 2, 1, 3};
      k = graph.add_value(graph[scores.k].name);
      added.outputs = {k};
      of_keys.emplace_back(n, std::move(added));
    }
    std::vector<int> inputs{scores.q, k, v};
    if (mask != kAbsent) inputs.push_back(mask);
    patterns.become(node, "Attention", std::move(inputs), {{"scale", scores.scale}});
  }
  for (std::size_t i = of_keys.size(); i-- > 0;)
    graph.nodes.insert(graph.nodes.begin() + static_cast<std::ptrdiff_t>(of_keys[i].first),
                       std::move(of_keys[i].second));
  remove_unread(graph);
}

}  // namespace kiln::onnx
