#include "kiln/onnx/passes/passes.hpp"

namespace kiln::onnx {

void simplify(Graph& graph, const RunContext& context) {
  remove_identities(graph);
  fold_constants(graph, context);
  fold_shapes(graph, context);
  join_transposes(graph);
  find_gelus(graph);
  find_layer_norms(graph);
  find_rms_norms(graph);
  find_attention(graph);
  fold_batch_norms(graph);
  remove_unread(graph);
  find_last_uses(graph);
}

}  // namespace kiln::onnx
