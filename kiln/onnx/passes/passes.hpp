// Passes that make a graph smaller without changing what it gives in inference; each is a file of its own.
#pragma once
#include "kiln/onnx/call.hpp"

namespace kiln::onnx {

/// Nodes of constants alone become constants, unless they make random numbers, have sub-graphs, may make much of little,
/// or make floats of quantised weights.
void fold_constants(Graph& graph, const RunContext& context);
/// Identity, Concat of one tensor, and Dropout where it does nothing: who reads the result reads the operand.
void remove_identities(Graph& graph);
/// Sizes that are known whatever the free ones are become constants, and what is computed of those alone.
void fold_shapes(Graph& graph, const RunContext& context);
/// Moves a transposition behind elementwise functions, so that two of them join and become one or none.
void join_transposes(Graph& graph);
/// y = BatchNormalization(Conv(x)) with constant weights is a convolution with other weights, and a product of
/// BatchNormalization(x), perhaps flattened, one of x.
void fold_batch_norms(Graph& graph);
/// Finds Gelu where older files spell it out: x / 2 (1 + erf(x / sqrt(2))), or the approximation by tanh.
void find_gelus(Graph& graph);
/// The angle of (x, y) as PyTorch's exporter spells it out of atan(y / x), which is none at (0, 0): there it is 0 again.
void find_angles(Graph& graph);
/// DequantizeLinear of QuantizeLinear by one scale and zero point: rounding to steps, without integers in between.
void find_fake_quantisation(Graph& graph);
/// (x - mean) / sqrt(mean((x - mean)^2) + epsilon) * weight + bias over the last dimension.
void find_layer_norms(Graph& graph);
/// x / sqrt(mean(x^2) + epsilon) * weight over the last dimension.
void find_rms_norms(Graph& graph);
/// Pow with the exponent 2 is a product, which rounds alike.
void find_squares(Graph& graph);
/// softmax(scale q k^T + mask) v of four dimensions.
void find_attention(Graph& graph);
/// Removes nodes whose results are not read.
void remove_unread(Graph& graph);

/// Runs all passes, on the graphs of nodes and of functions, too. There constants of the graph around are known, but for those
/// that are parameters of the model and may be trained.
void simplify(Graph& graph, const RunContext& context);

}  // namespace kiln::onnx
