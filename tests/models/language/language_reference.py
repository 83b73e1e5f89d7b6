"""GPT-2, Llama and BERT as their papers and published files have them, in plain PyTorch: functions of weights by their
published names, so that nothing but torch is needed."""
import torch
from torch.nn import functional as F

GPT2 = {"model_type": "gpt2", "vocab_size": 19, "n_positions": 12, "n_embd": 12, "n_head": 3, "n_layer": 2,
        "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new", "resid_pdrop": 0.1}
LLAMA = {"model_type": "llama", "vocab_size": 17, "hidden_size": 24, "intermediate_size": 20, "num_hidden_layers": 2,
         "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 16, "rms_norm_eps": 1e-6,
         "rope_theta": 500.0, "tie_word_embeddings": False, "hidden_act": "silu", "torch_dtype": "float32"}
BERT = {"model_type": "bert", "vocab_size": 23, "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 2,
        "intermediate_size": 20, "max_position_embeddings": 10, "type_vocab_size": 2, "layer_norm_eps": 1e-12,
        "hidden_act": "gelu"}


def gpt2_shapes(c=GPT2):
    width = c["n_embd"]
    shapes = {"wte.weight": (c["vocab_size"], width), "wpe.weight": (c["n_positions"], width)}
    for i in range(c["n_layer"]):
        for name, size in (("attn.c_attn", (width, 3 * width)), ("attn.c_proj", (width, width)),
                           ("mlp.c_fc", (width, 4 * width)), ("mlp.c_proj", (4 * width, width))):
            shapes |= {f"h.{i}.{name}.weight": size, f"h.{i}.{name}.bias": size[1:]}
        shapes |= {f"h.{i}.{name}.{part}": (width,) for name in ("ln_1", "ln_2") for part in ("weight", "bias")}
    shapes |= {f"ln_f.{part}": (width,) for part in ("weight", "bias")}
    return {f"transformer.{name}": shape for name, shape in shapes.items()}


def gpt2(w, ids, c=GPT2):
    w = {name.removeprefix("transformer."): value for name, value in w.items()}
    width, heads = c["n_embd"], c["n_head"]
    batch, time = ids.shape

    def norm(x, name):
        return F.layer_norm(x, (width,), w[name + ".weight"], w[name + ".bias"], c["layer_norm_epsilon"])

    def conv1d(x, name):
        return x @ w[name + ".weight"] + w[name + ".bias"]

    x = w["wte.weight"][ids] + w["wpe.weight"][:time]
    for i in range(c["n_layer"]):
        q, k, v = (y.view(batch, time, heads, -1).transpose(1, 2) for y in
                   conv1d(norm(x, f"h.{i}.ln_1"), f"h.{i}.attn.c_attn").split(width, dim=2))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(batch, time, width)
        x = x + conv1d(mixed, f"h.{i}.attn.c_proj")
        hidden = F.gelu(conv1d(norm(x, f"h.{i}.ln_2"), f"h.{i}.mlp.c_fc"), approximate="tanh")
        x = x + conv1d(hidden, f"h.{i}.mlp.c_proj")
    return norm(x, "ln_f") @ w["wte.weight"].t()


def llama_shapes(c=LLAMA):
    width, hidden, head = c["hidden_size"], c["intermediate_size"], c["hidden_size"] // c["num_attention_heads"]
    shared = head * c["num_key_value_heads"]
    shapes = {"model.embed_tokens.weight": (c["vocab_size"], width), "model.norm.weight": (width,),
              "lm_head.weight": (c["vocab_size"], width)}
    for i in range(c["num_hidden_layers"]):
        shapes |= {f"model.layers.{i}.{name}.weight": shape for name, shape in (
            ("self_attn.q_proj", (width, width)), ("self_attn.k_proj", (shared, width)),
            ("self_attn.v_proj", (shared, width)), ("self_attn.o_proj", (width, width)),
            ("mlp.gate_proj", (hidden, width)), ("mlp.up_proj", (hidden, width)), ("mlp.down_proj", (width, hidden)),
            ("input_layernorm", (width,)), ("post_attention_layernorm", (width,)))}
    return shapes


def llama_speeds(c):
    """Of rotary encoding; with `rope_scaling` as Llama 3.1 scales them."""
    head = c["hidden_size"] // c["num_attention_heads"]
    speeds = c["rope_theta"] ** (-torch.arange(0, head, 2, dtype=torch.float64) / head)
    if not (said := c.get("rope_scaling")):
        return speeds
    waves = 2 * torch.pi / speeds
    low, high, original = (said[key] for key in ("low_freq_factor", "high_freq_factor", "original_max_position_embeddings"))
    kept = (original / waves - low) / (high - low)
    mixed = (1 - kept) * speeds / said["factor"] + kept * speeds
    return torch.where(waves > original / low, speeds / said["factor"], torch.where(waves < original / high, speeds, mixed))


def llama(w, ids, c=LLAMA):
    heads, shared = c["num_attention_heads"], c["num_key_value_heads"]
    batch, time = ids.shape
    angles = torch.outer(torch.arange(time, dtype=torch.float64), llama_speeds(c)).repeat(1, 2)
    cosine, sine = angles.cos().float(), angles.sin().float()

    def norm(x, name):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + c["rms_norm_eps"]) * w[name + ".weight"]

    def linear(x, name):
        return x @ w[name + ".weight"].t()

    def turned(x):
        a, b = x.chunk(2, dim=-1)
        return x * cosine + torch.cat([-b, a], dim=-1) * sine

    x = w["model.embed_tokens.weight"][ids]
    for i in range(c["num_hidden_layers"]):
        layer = f"model.layers.{i}."
        y = norm(x, layer + "input_layernorm")
        q = linear(y, layer + "self_attn.q_proj").view(batch, time, heads, -1).transpose(1, 2)
        k, v = (linear(y, layer + f"self_attn.{name}_proj").view(batch, time, shared, -1).transpose(1, 2) for name in "kv")
        k, v = turned(k).repeat_interleave(heads // shared, 1), v.repeat_interleave(heads // shared, 1)
        mixed = F.scaled_dot_product_attention(turned(q), k, v, is_causal=True)
        x = x + linear(mixed.transpose(1, 2).reshape(batch, time, -1), layer + "self_attn.o_proj")
        y = norm(x, layer + "post_attention_layernorm")
        gated = F.silu(linear(y, layer + "mlp.gate_proj")) * linear(y, layer + "mlp.up_proj")
        x = x + linear(gated, layer + "mlp.down_proj")
    return linear(norm(x, "model.norm"), "lm_head" if "lm_head.weight" in w else "model.embed_tokens")


def bert_shapes(c=BERT):
    width, hidden = c["hidden_size"], c["intermediate_size"]
    shapes = {f"embeddings.{name}_embeddings.weight": (c[key], width) for name, key in
              (("word", "vocab_size"), ("position", "max_position_embeddings"), ("token_type", "type_vocab_size"))}
    linears, norms = {"pooler.dense": (width, width)}, ["embeddings.LayerNorm"]
    for i in range(c["num_hidden_layers"]):
        layer = f"encoder.layer.{i}."
        linears |= {layer + f"attention.self.{name}": (width, width) for name in ("query", "key", "value")}
        linears |= {layer + "attention.output.dense": (width, width), layer + "intermediate.dense": (hidden, width),
                    layer + "output.dense": (width, hidden)}
        norms += [layer + "attention.output.LayerNorm", layer + "output.LayerNorm"]
    for name, shape in linears.items():
        shapes |= {name + ".weight": shape, name + ".bias": shape[:1]}
    return shapes | {f"{name}.{part}": (width,) for name in norms for part in ("weight", "bias")}


def bert(w, ids, segments, there, c=BERT):
    """The last hidden state, and what the pooler makes of it."""
    width, heads = c["hidden_size"], c["num_attention_heads"]
    batch, time = ids.shape

    def norm(x, name):
        return F.layer_norm(x, (width,), w[name + ".weight"], w[name + ".bias"], c["layer_norm_eps"])

    def linear(x, name):
        return F.linear(x, w[name + ".weight"], w[name + ".bias"])

    x = norm(w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][:time]
             + w["embeddings.token_type_embeddings.weight"][segments], "embeddings.LayerNorm")
    for i in range(c["num_hidden_layers"]):
        layer = f"encoder.layer.{i}."
        q, k, v = (linear(x, layer + f"attention.self.{name}").view(batch, time, heads, -1).transpose(1, 2)
                   for name in ("query", "key", "value"))
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=there[:, None, None, :])
        mixed = linear(mixed.transpose(1, 2).reshape(batch, time, width), layer + "attention.output.dense")
        x = norm(x + mixed, layer + "attention.output.LayerNorm")
        hidden = F.gelu(linear(x, layer + "intermediate.dense"))
        x = norm(x + linear(hidden, layer + "output.dense"), layer + "output.LayerNorm")
    return x, torch.tanh(linear(x[:, 0], "pooler.dense"))
