// Wrong calls of attention, normalisations, embeddings and losses.
#include <gtest/gtest.h>

#include "kiln/autodiff/backward.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/index/embedding.hpp"
#include "kiln/ops/loss/boxes.hpp"
#include "kiln/ops/loss/loss.hpp"
#include "kiln/ops/norm/channel_norm_ops.hpp"
#include "kiln/ops/norm/normalization.hpp"
#include "kiln/ops/product/linear.hpp"
#include "kiln/ops/sequence/attention.hpp"
#include "kiln/ops/sequence/attention_ops.hpp"
#include "kiln/ops/sequence/position.hpp"
#include "kiln/ops/sequence/recurrent.hpp"
#include "kiln/ops/sequence/recurrent_ops.hpp"
#include "tests/support/wrong_call.hpp"

namespace kiln {
namespace {

Value four() { return floats({1, 4, 3, 2}); }

const WrongCall kLayerCalls[] = {
    // attention
    {"ShapeError: attention: q [3, 2] must be [batch, heads, time, width]",
     [] { attention(floats({3, 2}), four(), four()); }},
    {"ShapeError: attention: q [1, 4, 3, 2], k [3, 2] and v [1, 4, 3, 2] must be [batch, heads, time, width]",
     [] { attention(four(), floats({3, 2}), four()); }},
    {"ShapeError: attention: q [1, 4, 3, 2], k [1, 4, 3, 5] and v [1, 4, 3, 2] must agree in batch, q and k in width, "
     "k "
     "and v in heads and time",
     [] { attention(four(), floats({1, 4, 3, 5}), four()); }},
    {"ShapeError: attention: the 3 heads of k [1, 3, 3, 2] do not divide the 4 of q [1, 4, 3, 2]",
     [] { attention(four(), floats({1, 3, 3, 2}), floats({1, 3, 3, 2})); }},
    {"ShapeError: attention: the 0 heads of k [1, 0, 3, 2] do not divide the 4 of q [1, 4, 3, 2]",
     [] { attention(floats({1, 4, 3, 2}), floats({1, 0, 3, 2}), floats({1, 0, 3, 2})); }},
    {"ShapeError: attention: the mask [2, 3] does not broadcast to [1, 4, 3, 3], which is [batch, heads, queries, "
     "keys]",
     [] { attention(four(), four(), four(), {}, flags({2, 3})); }},
    {"DTypeError: attention: the mask must be boolean, got float32 [3, 3]",
     [] { attention(four(), four(), four(), {}, floats({3, 3})); }},
    {"ShapeError: attention: the bias [1, 1, 4, 3, 3] does not broadcast to [1, 4, 3, 3], which is [batch, heads, "
     "queries, keys]",
     [] { attention(four(), four(), four(), {}, {}, floats({1, 1, 4, 3, 3})); }},
    {"DTypeError: attention: needs a tensor of floats, got int64 [1, 4, 3, 2]",
     [] { attention(integers({1, 4, 3, 2}), four(), four()); }},
    {"ArgumentError: attention: the window must be positive, got 0",
     [] { attention(four(), four(), four(), {.window = 0}); }},
    {"ArgumentError: attention: softcap must not be negative, got -1",
     [] { attention(four(), four(), four(), {.softcap = -1}); }},
    {"ArgumentError: window_mask: 2 queries, 3 keys and a window of -1 must not be negative",
     [] { window_mask({2, 3}, -1, false, Device::cpu()); }},
    {"ShapeError: causal_mask: needs [queries, keys], got [2]", [] { causal_mask({2}, Device::cpu()); }},
    {"ShapeError: padding_mask: lengths must be [batch], got [2, 2]", [] { padding_mask(integers({2, 2}), 3); }},
    // recurrent layers
    {"ShapeError: lstm: x must be [batch, time, in], got [2, 3]",
     [] { lstm(floats({2, 3}), {floats({8, 3}), floats({8, 2}), {}, {}}); }},
    {"DTypeError: lstm: needs a tensor of floats, got int64 [2, 1, 3]",
     [] { lstm(integers({2, 1, 3}), {floats({8, 3}), floats({8, 2}), {}, {}}); }},
    {"ShapeError: lstm: the hidden weights [8, 3] are not [4 hidden, hidden]",
     [] { lstm(floats({2, 1, 3}), {floats({8, 3}), floats({8, 3}), {}, {}}); }},
    {"ShapeError: lstm: the input weights [8, 2] are not [8, 3]",
     [] { lstm(floats({2, 1, 3}), {floats({8, 2}), floats({8, 2}), {}, {}}); }},
    {"ShapeError: lstm: both biases must be [8], or absent",
     [] { lstm(floats({2, 1, 3}), {floats({8, 3}), floats({8, 2}), floats({8}), {}}); }},
    {"ShapeError: lstm: a state must be [2, 2], got float32 [2, 3]",
     [] { lstm(floats({2, 1, 3}), {floats({8, 3}), floats({8, 2}), {}, {}}, {}, {.hidden = floats({2, 3})}); }},
    {"ShapeError: lstm: the hidden weights [7, 2] are not [4 hidden, out]",
     [] { lstm(floats({2, 1, 3}), {floats({7, 3}), floats({7, 2}), {}, {}, floats({2, 2})}); }},
    {"ShapeError: lstm: the projection float32 [2, 2] is not [1, 2]",
     [] { lstm(floats({2, 1, 3}), {floats({8, 3}), floats({8, 1}), {}, {}, floats({2, 2})}); }},
    {"ShapeError: gru: the hidden weights [8, 2] are not [3 hidden, hidden]",
     [] { gru(floats({2, 1, 3}), {floats({8, 3}), floats({8, 2}), {}, {}}); }},
    {"ArgumentError: gru: only an LSTM has a projection",
     [] { gru(floats({2, 1, 3}), {floats({6, 3}), floats({6, 2}), {}, {}, floats({2, 2})}); }},
    {"ArgumentError: rnn: only an LSTM has a cell",
     [] { rnn(floats({2, 1, 3}), {floats({2, 3}), floats({2, 2}), {}, {}}, {}, {{}, floats({2, 2})}); }},
    {"ShapeError: rnn: the hidden weights [3, 2] are not [hidden, hidden]",
     [] { rnn(floats({2, 1, 3}), {floats({3, 3}), floats({3, 2}), {}, {}}); }},
    {"ArgumentError: rnn: clip must be positive, got 0",
     [] { rnn(floats({2, 1, 3}), {floats({2, 3}), floats({2, 2}), {}, {}}, {.clip = 0}); }},
    {"ShapeError: rnn: lengths must be [2], got int64 [3]",
     [] { rnn(floats({2, 1, 3}), {floats({2, 3}), floats({2, 2}), {}, {}}, {}, {}, integers({3})); }},
    {"DTypeError: rnn: indices must be an integer tensor, got float32 [2]",
     [] { rnn(floats({2, 1, 3}), {floats({2, 3}), floats({2, 2}), {}, {}}, {}, {}, floats({2})); }},
    // positions
    {"ShapeError: rotary: x must be [..., time, width] with an even width, got [2, 3]",
     [] { rotary(floats({2, 3}), floats({2, 1}), floats({2, 1})); }},
    {"ShapeError: rotary: [3, 2] does not broadcast to [1, 2]",
     [] { rotary(floats({1, 4}), floats({3, 2}), floats({1, 2})); }},
    {"ArgumentError: rotary_tables: the width must be positive and even, got 3",
     [] { rotary_tables(integers({2}), 3); }},
    {"ArgumentError: alibi_bias: 0 heads, 2 queries and 2 keys", [] { alibi_bias({0, 2, 2}, Device::cpu()); }},
    {"ShapeError: sinusoidal_positions: needs [time, width], got [2]",
     [] { sinusoidal_positions({2}, Device::cpu()); }},
    // normalisations
    {"ShapeError: batch_norm: training needs two elements or more per channel, [1, 3] has 1",
     [] { batch_norm_training(floats({1, 3}), {}, {}); }},
    {"ShapeError: batch_norm: weight or bias [2] does not fit the 3 channels of [4, 3]",
     [] { batch_norm_training(floats({4, 3}), {}, {}, floats({2})); }},
    {"ShapeError: batch_norm: running statistics [2] do not fit [3] channels",
     [] { batch_norm_training(floats({4, 3}), floats({2}), {}); }},
    {"ArgumentError: batch_norm: inference needs running statistics; batch_norm_training() does without",
     [] { batch_norm(floats({4, 3}), {}, {}); }},
    {"ShapeError: batch_norm: [2] does not fit the 3 channels of [4, 3]",
     [] { batch_norm(floats({4, 3}), floats({3}), floats({2})); }},
    {"ArgumentError: group_norm: 2 groups do not divide the 3 channels of [4, 3]",
     [] { group_norm(floats({4, 3}), 2); }},
    {"ArgumentError: group_norm: 0 groups do not divide the 3 channels of [4, 3]",
     [] { group_norm(floats({4, 3}), 0); }},
    {"ShapeError: instance_norm: x must be [batch, channels, ...], got [4]", [] { instance_norm(floats({4})); }},
    {"DTypeError: group_norm: needs a tensor of floats, got int64 [4, 3]", [] { group_norm(integers({4, 3}), 1); }},
    {"ArgumentError: layer_norm: 3 dimensions are not among those of [4, 3]", [] { layer_norm(floats({4, 3}), 3); }},
    {"ShapeError: rms_norm: weight [4] does not cover the last dimensions of [4, 3]",
     [] { rms_norm(floats({4, 3}), floats({4})); }},
    {"ArgumentError: local_response_norm: the size must be positive, got 0",
     [] { local_response_norm(floats({4, 3}), {.size = 0}); }},
    // embeddings
    {"ShapeError: embedding: the weight must be [count, size], got [3]", [] { embedding(floats({3}), integers({2})); }},
    {"DTypeError: embedding: indices must be an integer tensor, got float32 [2]",
     [] { embedding(floats({3, 2}), floats({2})); }},
    {"IndexError: embedding: index 3 is out of range for dimension 0 of size 3",
     [] { embedding(floats({3, 2}), integers({2}, 3)); }},
    {"ShapeError: embedding_bag: indices must be [bags, entries], or come with offsets, got [2]",
     [] { embedding_bag(floats({3, 2}), integers({2})); }},
    {"ArgumentError: embedding_bag: entry weights require mode Sum",
     [] { embedding_bag(floats({3, 2}), integers({2, 2}), {.mode = BagMode::Max}, floats({2, 2})); }},
    {"ShapeError: embedding_bag: entry weights [2] must have the shape of indices [2, 2]",
     [] { embedding_bag(floats({3, 2}), integers({2, 2}), {}, floats({2})); }},
    {"ArgumentError: embedding_bag: offsets must start at 0 and not descend, up to the 2 indices",
     [] { embedding_bag(floats({3, 2}), integers({2}), integers({1}, 1), EmbeddingBagOptions{}); }},
    {"ShapeError: linear: the last dimension of [2, 3] is not the layer's input size, 4",
     [] { linear(floats({2, 3}), floats({5, 4})); }},
    {"ShapeError: linear: the bias [4] does not fit the weight [5, 3]",
     [] { linear(floats({2, 3}), floats({5, 3}), floats({4})); }},
    // losses
    {"ShapeError: mse_loss: [2] and [2, 1] differ", [] { mse_loss(floats({2}), floats({2, 1})); }},
    {"ShapeError: cross_entropy: targets [3] of [2, 3] must be [2]",
     [] { cross_entropy(floats({2, 3}), integers({3}), CrossEntropyOptions{}); }},
    {"ShapeError: cross_entropy: weights [2] do not fit the 3 classes of [2, 3]",
     [] { cross_entropy(floats({2, 3}), integers({2}), {.weights = floats({2})}); }},
    {"ArgumentError: cross_entropy: label_smoothing must lie between 0 and 1, got 2",
     [] { cross_entropy(floats({2, 3}), integers({2}), {.label_smoothing = 2}); }},
    {"ArgumentError: cross_entropy: no class can be ignored where targets are probabilities",
     [] { cross_entropy(floats({2, 3}), floats({2, 3}), {.ignore = 1}); }},
    {"ShapeError: cross_entropy: probabilities [2] must have the shape of logits [2, 3]",
     [] { cross_entropy(floats({2, 3}), floats({2}), CrossEntropyOptions{}); }},
    {"IndexError: cross_entropy: target 3 is out of range for 3 classes",
     [] { cross_entropy(floats({2, 3}), integers({2}, 3), CrossEntropyOptions{}); }},
    {"ShapeError: nll_loss: needs [batch, classes, sizes...], got [2]", [] { nll_loss(floats({2}), integers({2})); }},
    {"ArgumentError: binary_cross_entropy: positive weights go with logits; use binary_cross_entropy_with_logits",
     [] { binary_cross_entropy(floats({2}), floats({2}), {.positive_weights = floats({2})}); }},
    {"ShapeError: multi_margin_loss: x must be [batch, classes], got [2, 3, 1]",
     [] { multi_margin_loss(floats({2, 3, 1}), integers({2, 1})); }},
    {"ArgumentError: huber_loss: delta must be positive, got 0", [] { huber_loss(floats({2}), floats({2}), 0); }},
    {"ArgumentError: lp_loss: p must be positive, got -1", [] { lp_loss(floats({2}), floats({2}), -1); }},
    {"ArgumentError: sigmoid_focal_loss: gamma must not be negative, got -1",
     [] { sigmoid_focal_loss(floats({2}), floats({2}), 0.5, -1); }},
    {"ShapeError: gaussian_nll_loss: variance [2, 2] does not broadcast to [2]",
     [] { gaussian_nll_loss(floats({2}), floats({2}), floats({2, 2})); }},
    {"ShapeError: cosine_embedding_loss: needs a and b [batch, width] and y [batch], got [2, 3] and [3]",
     [] { cosine_embedding_loss(floats({2, 3}), floats({2, 3}), floats({3})); }},
    {"ShapeError: gram_matrix: needs [batch, channels, sizes...], got [2]", [] { gram_matrix(floats({2})); }},
    {"ShapeError: box_iou: boxes must be [n, 4], got [2, 3]", [] { box_iou(floats({2, 4}), floats({2, 3})); }},
    {"ShapeError: box_iou_loss: boxes must be [..., 4], got [4, 2]",
     [] { box_iou_loss(floats({4, 2}), floats({4, 2})); }},
    {"ShapeError: box_iou_loss: [2, 4] and [1, 4] differ", [] { box_iou_loss(floats({2, 4}), floats({1, 4})); }},
    {"DTypeError: box_iou: needs a tensor of floats, got int64 [2, 4]",
     [] { box_iou(floats({2, 4}), integers({2, 4})); }},
    // gradients that have none
    {"AutodiffError: attention_grad: has no gradient; differentiate attention with create_graph",
     [] {
       const Value q = ones({1, 1, 1, 1}, Device::cpu().autodiff()).require_grad();
       const Value rows = ones({1, 1, 1}, Device::cpu());
       backward(sum(emit_all(op::AttentionGrad{}, {q, q, q, {}, {}, 1.0, {}, q, rows, rows, {}})[0]));
     }},
    {"AutodiffError: recurrent_layer_grad: has no gradient; differentiate the layer with create_graph",
     [] {
       const Value x = ones({1, 1, 1}, Device::cpu().autodiff()).require_grad(), weight = ones({1, 1}, Device::cpu());
       const op::RecurrentLayerGrad grad{{.kind = RecurrentKind::Rnn}};
       backward(sum(emit_all(grad, {weight, {}, {}, x, weight, {}, {}, x, {}, {}})[0]));
     }},
    {"AutodiffError: group_norm_grad: has no gradient; differentiate group_norm with create_graph",
     [] {
       const Value x = ones({1, 2}, Device::cpu().autodiff()).require_grad();
       backward(sum(emit_all(op::GroupNormGrad{1}, {x, {}, 1e-5, x})[0]));
     }},
    {"AutodiffError: batch_norm_grad: has no gradient; differentiate batch_norm with create_graph",
     [] {
       const Value x = ones({2, 1}, Device::cpu().autodiff()).require_grad(), one = ones({1}, Device::cpu());
       backward(sum(emit_all(op::BatchNormGrad{}, {x, {}, 1e-5, one, one, x})[0]));
     }},
};

TEST(WrongCallsOfLayers, AreAnsweredWithASentence) { expect_sentences(kLayerCalls); }

}  // namespace
}  // namespace kiln
