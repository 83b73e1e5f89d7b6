// Layers that PyTorch names or lays out differently from Kiln.
#pragma once
#include "kiln/store/format/source.hpp"

namespace kiln {

/// Translates PyTorch's names of a layer's tensors to Kiln's, wherever such a layer is in a model:
///   LSTM, GRU, RNN     lstm.weight_ih_l1, lstm.bias_hh_l0_reverse   lstm.layers.1.weight_ih, lstm.reversed.0.bias_hh
///   their cells        cell.weight_ih                               cell.layer.weight_ih
///   MultiheadAttention in_proj_weight, q_proj_weight, out_proj      query, key, value, output
///   Transformer...     layers.0.self_attn, linear1, norm1           blocks.0.attention, feed_forward.inner, attention_norm
///   BatchNorm          num_batches_tracked, a count that Kiln does not read, is left out
/// Other layers have the same names in both. Throws DataError naming `file` if attention's weights do not consist of
/// three parts.
TensorSource with_pytorch_layers(const TensorSource& source, std::string_view file);

/// Returns whether it contains any of these layers.
bool has_pytorch_layers(const TensorSource& source);

}  // namespace kiln
