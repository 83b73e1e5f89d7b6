#include "kiln/ops/index/embedding.hpp"
#include "kiln/ops/loss/loss.hpp"
#include "kiln/ops/norm/normalization.hpp"
#include "kiln/ops/product/linear.hpp"
#include "kiln/ops/sequence/attention.hpp"
#include "kiln/ops/sequence/recurrent.hpp"
#include "tests/golden/golden.hpp"

namespace kiln::golden {
namespace {

const Rows kNorms({
    {"layer_norm", [](In in) { return layer_norm(in[0], in[1], in[2]); }},
    {"batch_norm", [](In in) { return batch_norm(in[0], in[1], in[2], in[3], in[4]); }},
    {"batch_norm.training", [](In in) { return batch_norm_training(in[0], {}, {}, in[1], in[2]).output; }},
    {"group_norm", [](In in) { return group_norm(in[0], 2, in[1], in[2]); }},
    {"instance_norm", [](In in) { return instance_norm(in[0]); }},
    {"rms_norm", [](In in) { return rms_norm(in[0], in[1], 1e-5); }},
    {"local_response_norm",
     [](In in) { return local_response_norm(in[0], {.size = 3, .alpha = 0.2, .beta = 0.6, .k = 1.5}); }},
});

const Rows kLookups({
    {"linear", [](In in) { return linear(in[0], in[1], in[2]); }},
    {"embedding", [](In in) { return embedding(in[0], in[1]); }},
    {"embedding_bag.sum", [](In in) { return embedding_bag(in[0], in[1]); }},
    {"embedding_bag.mean", [](In in) { return embedding_bag(in[0], in[1], {.mode = BagMode::Mean}); }},
    {"embedding_bag.max", [](In in) { return embedding_bag(in[0], in[1], {.mode = BagMode::Max}); }},
    {"embedding_bag.offsets", [](In in) { return embedding_bag(in[0], in[1], in[2], {.mode = BagMode::Mean}); }},
});

const Rows kAttentions({
    {"attention", [](In in) { return attention(in[0], in[1], in[2]); }},
    {"attention.scale", [](In in) { return attention(in[0], in[1], in[2], {.scale = 0.3}); }},
    {"attention.causal", [](In in) { return attention(in[0], in[1], in[2], {.causal = true}); }},
    {"attention.mask", [](In in) { return attention(in[0], in[1], in[2], {}, in[3]); }},
    {"attention.bias", [](In in) { return attention(in[0], in[1], in[2], {}, {}, in[3]); }},
    {"attention.grouped", [](In in) { return attention(in[0], in[1], in[2]); }},
});

const Rows kLosses({
    {"mse_loss", [](In in) { return mse_loss(in[0], in[1]); }},
    {"mse_loss.none", [](In in) { return mse_loss(in[0], in[1], Reduction::None); }},
    {"l1_loss", [](In in) { return l1_loss(in[0], in[1]); }},
    {"smooth_l1_loss", [](In in) { return smooth_l1_loss(in[0], in[1], 0.7); }},
    {"huber_loss", [](In in) { return huber_loss(in[0], in[1], 0.7, Reduction::Sum); }},
    {"cross_entropy", [](In in) { return cross_entropy(in[0], in[1]); }},
    {"cross_entropy.options",
     [](In in) { return cross_entropy(in[0], in[1], {.weights = in[2], .ignore = 1, .label_smoothing = 0.2}); }},
    {"cross_entropy.probabilities", [](In in) { return cross_entropy(in[0], in[1], CrossEntropyOptions{}); }},
    {"nll_loss", [](In in) { return nll_loss(in[0], in[1], {}, Reduction::Sum); }},
    {"binary_cross_entropy", [](In in) { return binary_cross_entropy(in[0], in[1]); }},
    {"binary_cross_entropy_with_logits",
     [](In in) { return binary_cross_entropy_with_logits(in[0], in[1], {.positive_weights = in[2]}); }},
    {"kl_div", [](In in) { return kl_div(in[0], in[1]); }},
    {"kl_div.log_target", [](In in) { return kl_div(in[0], in[1], true, Reduction::Sum); }},
    {"poisson_nll_loss", [](In in) { return poisson_nll_loss(in[0], in[1], {.full = true}); }},
    {"gaussian_nll_loss", [](In in) { return gaussian_nll_loss(in[0], in[1], in[2], {.full = true}); }},
    {"hinge_embedding_loss", [](In in) { return hinge_embedding_loss(in[0], in[1]); }},
    {"margin_ranking_loss", [](In in) { return margin_ranking_loss(in[0], in[1], in[2], 0.3); }},
    {"soft_margin_loss", [](In in) { return soft_margin_loss(in[0], in[1]); }},
    {"multi_margin_loss", [](In in) { return multi_margin_loss(in[0], in[1]); }},
    {"triplet_margin_loss",
     [](In in) { return triplet_margin_loss(in[0], in[1], in[2], {.margin = 0.7, .swap = true}); }},
    {"cosine_embedding_loss", [](In in) { return cosine_embedding_loss(in[0], in[1], in[2], 0.1); }},
});

Values pass(const RecurrentPass& made) { return {made.outputs, made.state.hidden, made.state.cell}; }
const Rows kRecurrent({
    {"lstm", [](In in) { return pass(lstm(in[0], {in[1], in[2], in[3], in[4]}, {}, {in[5], in[6]})); }},
    {"lstm.plain", [](In in) { return pass(lstm(in[0], {in[1], in[2], {}, {}})); }},
});

}  // namespace
}  // namespace kiln::golden
