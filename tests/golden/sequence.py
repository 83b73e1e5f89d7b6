"""Normalisations, losses, attention, embeddings, recurrent layers."""
import torch
import torch.nn.functional as F

from golden import case

case("layer_norm", lambda r: [r.real(2, 3, 4), r.real(3, 4), r.real(3, 4)], lambda x, w, b: F.layer_norm(x, (3, 4), w, b))
case("batch_norm", lambda r: [r.real(2, 3, 4), r.real(3), r.real(3, low=0.5), r.real(3), r.real(3)],
     lambda x, m, v, w, b: F.batch_norm(x, m.detach(), v.detach(), w, b))
case("batch_norm.training", lambda r: [r.real(4, 3, 2), r.real(3), r.real(3)],
     lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True))
case("group_norm", lambda r: [r.real(2, 4, 3), r.real(4), r.real(4)], lambda x, w, b: F.group_norm(x, 2, w, b))
case("instance_norm", lambda r: r.real(2, 3, 5), lambda x: F.instance_norm(x))
case("rms_norm", lambda r: [r.real(2, 3, 4), r.real(4)], lambda x, w: F.rms_norm(x, (4,), w, 1e-5))
case("local_response_norm", lambda r: r.real(1, 6, 3), lambda x: F.local_response_norm(x, 3, alpha=0.2, beta=0.6, k=1.5))

case("linear", lambda r: [r.real(2, 3, 4), r.real(5, 4), r.real(5)], F.linear)
case("embedding", lambda r: [r.real(5, 3), r.whole(2, 4, high=5)], lambda w, i: F.embedding(i, w))
for mode in ("sum", "mean", "max"):
    case(f"embedding_bag.{mode}", lambda r: [r.real(5, 3), r.whole(2, 4, high=5)], lambda w, i: F.embedding_bag(i, w, mode=mode))
case("embedding_bag.offsets", lambda r: [r.real(5, 3), r.whole(6, high=5), torch.tensor([0, 2, 2])],
     lambda w, i, o: F.embedding_bag(i, w, o, mode="mean"))


def qkv(r):
    return [r.real(1, 2, 3, 4), r.real(1, 2, 5, 4), r.real(1, 2, 5, 3)]


attend = F.scaled_dot_product_attention
case("attention", qkv, attend)
case("attention.scale", qkv, lambda q, k, v: attend(q, k, v, scale=0.3))
case("attention.causal", lambda r: [r.real(1, 2, 4, 4), r.real(1, 2, 4, 4), r.real(1, 2, 4, 3)],
     lambda q, k, v: attend(q, k, v, is_causal=True))
case("attention.mask", lambda r: [*qkv(r), torch.tensor([[1, 0, 1, 1, 0], [0, 1, 1, 0, 0], [1, 1, 1, 1, 1]]).bool()],
     lambda q, k, v, m: attend(q, k, v, m))
case("attention.bias", lambda r: [*qkv(r), r.real(2, 3, 5)], lambda q, k, v, b: attend(q, k, v, b))
case("attention.grouped", lambda r: [r.real(1, 4, 3, 4), r.real(1, 2, 5, 4), r.real(1, 2, 5, 4)],
     lambda q, k, v: attend(q, k, v, enable_gqa=True))

TARGET = lambda r: r.real(4, 3)  # noqa: E731
case("mse_loss", lambda r: [r.real(4, 3), r.real(4, 3)], F.mse_loss)
case("mse_loss.none", lambda r: [r.real(4, 3), r.real(4, 3)], lambda x, t: F.mse_loss(x, t, reduction="none"))
case("l1_loss", lambda r: [r.real(4, 3), r.real(4, 3)], F.l1_loss)
case("smooth_l1_loss", lambda r: [r.real(4, 3), r.real(4, 3)], lambda x, t: F.smooth_l1_loss(x, t, beta=0.7))
case("huber_loss", lambda r: [r.real(4, 3), r.real(4, 3)], lambda x, t: F.huber_loss(x, t, delta=0.7, reduction="sum"))
case("cross_entropy", lambda r: [r.real(4, 3), r.whole(4, high=3)], lambda x, t: F.cross_entropy(x, t))
case("cross_entropy.options", lambda r: [r.real(2, 3, 4), r.whole(2, 4, high=3), r.real(3, low=0.5)],
     lambda x, t, w: F.cross_entropy(x, t, w.detach(), ignore_index=1, label_smoothing=0.2))
case("cross_entropy.probabilities", lambda r: [r.real(4, 3), r.real(4, 3).softmax(1)], F.cross_entropy)
case("nll_loss", lambda r: [r.real(4, 3).log_softmax(1), r.whole(4, high=3)], lambda x, t: F.nll_loss(x, t, reduction="sum"))
case("binary_cross_entropy", lambda r: [r.real(4, low=0.05, high=0.95), r.real(4, low=0, high=1)],
     lambda x, t: F.binary_cross_entropy(x, t.detach()))
case("binary_cross_entropy_with_logits", lambda r: [r.real(4, 3), r.real(4, 3, low=0, high=1), r.real(3, low=0.5)],
     lambda x, t, p: F.binary_cross_entropy_with_logits(x, t.detach(), pos_weight=p.detach()))
case("kl_div", lambda r: [r.real(4, 3).log_softmax(1), r.real(4, 3).softmax(1)],
     lambda x, t: F.kl_div(x, t, reduction="batchmean"))
case("kl_div.log_target", lambda r: [r.real(4, 3).log_softmax(1), r.real(4, 3).log_softmax(1)],
     lambda x, t: F.kl_div(x, t, reduction="sum", log_target=True))
case("poisson_nll_loss", lambda r: [r.real(5), r.real(5, low=0, high=6)], lambda x, t: F.poisson_nll_loss(x, t.detach(), full=True))
case("gaussian_nll_loss", lambda r: [r.real(5), r.real(5), r.real(5, low=0.3)], lambda x, t, v: F.gaussian_nll_loss(x, t, v, full=True))
SIGNS = torch.tensor([1.0, -1, -1, 1])
case("hinge_embedding_loss", lambda r: [r.real(4), SIGNS], lambda x, y: F.hinge_embedding_loss(x, y.detach()))
case("margin_ranking_loss", lambda r: [r.real(4), r.real(4), SIGNS],
     lambda a, b, y: F.margin_ranking_loss(a, b, y.detach(), margin=0.3))
case("soft_margin_loss", lambda r: [r.real(4), SIGNS], lambda x, y: F.soft_margin_loss(x, y.detach()))
case("multi_margin_loss", lambda r: [r.real(4, 3), r.whole(4, high=3)], lambda x, t: F.multi_margin_loss(x, t))
case("triplet_margin_loss", lambda r: [r.real(4, 3), r.real(4, 3), r.real(4, 3)],
     lambda a, p, n: F.triplet_margin_loss(a, p, n, margin=0.7, swap=True))
case("cosine_embedding_loss", lambda r: [r.real(4, 3), r.real(4, 3), SIGNS],
     lambda a, b, y: F.cosine_embedding_loss(a, b, y.detach(), margin=0.1))


def lstm(x, *weights, state=None):
    state = state or [torch.zeros(x.shape[0], weights[1].shape[1])] * 2
    outputs, hidden, cell = torch.lstm(x, [s[None] for s in state], weights, len(weights) == 4, 1, 0.0, False, False, True)
    return outputs, hidden[0], cell[0]


case("lstm", lambda r: [r.real(2, 3, 4), r.real(12, 4), r.real(12, 3), r.real(12), r.real(12), r.real(2, 3), r.real(2, 3)],
     lambda x, wi, wh, bi, bh, h, c: lstm(x, wi, wh, bi, bh, state=[h, c]))
case("lstm.plain", lambda r: [r.real(1, 5, 2), r.real(8, 2), r.real(8, 2)], lstm)
