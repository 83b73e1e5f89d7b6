"""Compares Kiln with the package transformers: exchange_transformers.py PROGRAM, which is language_outputs.

Each variant of a config, with random weights, is saved by transformers itself and, where it has a name there, as a GGUF
file; logits of the whole and token by token must be the same to 1e-4."""
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
from safetensors.torch import load_file, save_file

try:
    import gguf
except ImportError:
    gguf = None

import transformers_variants as variants

PROGRAM = sys.argv[1]
GGUF_NAMES = (("model.embed_tokens", "token_embd"), ("model.norm", "output_norm"), ("lm_head", "output"),
              ("model.layers", "blk"), ("self_attn.q_proj", "attn_q"), ("self_attn.k_proj", "attn_k"),
              ("self_attn.v_proj", "attn_v"), ("self_attn.o_proj", "attn_output"), ("mlp.gate_proj", "ffn_gate"),
              ("mlp.up_proj", "ffn_up"), ("mlp.down_proj", "ffn_down"), ("post_attention_layernorm", "ffn_norm"),
              ("input_layernorm", "attn_norm"))


def as_trained(model, seed):
    """Weights of a size at which attention and activations are far from linear."""
    draw = torch.Generator().manual_seed(seed)
    for name, value in model.named_parameters():
        one = 1 if value.dim() == 1 and name.endswith("weight") else 0
        value.data = torch.randn(value.shape, generator=draw) * 0.5 + one


def compare(actual, expected, what):
    assert actual.shape == expected.shape, f"{what}: {tuple(actual.shape)}, expected {tuple(expected.shape)}"
    worst = ((actual - expected).abs() / (1 + expected.abs())).max().item()
    assert worst < 1e-4, f"{what}: differs by {worst}"
    print(f"ok {what}: within {worst:.1e}")


def check(kind, path, ids, expected, place, what):
    inputs = {"ids": ids.contiguous()}
    if kind == "bert":
        inputs |= {"segments": expected["segments"].contiguous(), "there": torch.ones_like(ids, dtype=torch.bool)}
    save_file(inputs, place / "inputs.safetensors")
    subprocess.run([PROGRAM, kind, str(path), str(place / "inputs.safetensors"), str(place / "outputs.safetensors")],
                   check=True)
    found = load_file(place / "outputs.safetensors")
    if kind == "bert":
        compare(found["hidden"], expected["hidden"], f"{what}, hidden")
        compare(found["pooled"], expected["pooled"], f"{what}, pooled")
    else:
        compare(found["logits"], expected["logits"], f"{what}, whole")
        compare(found["cached"], expected["steps"], f"{what}, token by token")


def permuted(weight, heads, turned):
    """Rows of queries and keys as GGUF has them: of those that are turned, neighbours together, not halves."""
    heads_of = weight.view(heads, -1, weight.shape[1])
    part, rest = heads_of[:, :turned], heads_of[:, turned:]
    part = part.reshape(heads, 2, turned // 2, -1).transpose(1, 2).reshape(part.shape)
    return torch.cat([part, rest], 1).reshape(weight.shape)


def write_gguf(path, model, config):
    """None where GGUF has no words for the config."""
    c = model.config
    said = c.rope_parameters
    head = c.head_dim
    turned = int(head * said.get("partial_rotary_factor", 1))
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(c.max_position_embeddings)
    writer.add_embedding_length(c.hidden_size)
    writer.add_block_count(c.num_hidden_layers)
    writer.add_feed_forward_length(c.intermediate_size)
    writer.add_head_count(c.num_attention_heads)
    writer.add_head_count_kv(c.num_key_value_heads)
    writer.add_key_length(head)
    writer.add_value_length(head)
    writer.add_layer_norm_rms_eps(c.rms_norm_eps)
    writer.add_rope_freq_base(said["rope_theta"])
    writer.add_rope_dimension_count(turned)
    writer.add_vocab_size(c.vocab_size)
    writer.add_name("a model")
    writer.add_token_list([str(i) for i in range(c.vocab_size)])
    kind = said["rope_type"]
    if kind == "linear":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(said["factor"])
    elif kind == "yarn":
        if "mscale" in said or "truncate" in said:
            return False
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(said["factor"])
        writer.add_rope_scaling_orig_ctx_len(said["original_max_position_embeddings"])
    elif kind == "llama3":
        speeds = said["rope_theta"] ** (-torch.arange(0, turned, 2).double() / turned)
        scaled = variants.modeling_llama.ROPE_INIT_FUNCTIONS["llama3"](c, torch.device("cpu"))[0].double()
        writer.add_tensor("rope_freqs.weight", (speeds / scaled).float().numpy())
    elif kind == "longrope":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LONGROPE)
        writer.add_rope_scaling_factor(said["factor"])
        writer.add_rope_scaling_orig_ctx_len(said["original_max_position_embeddings"])
        writer.add_rope_scaling_attn_factors(model.model.rotary_emb.attention_scaling)
        writer.add_tensor("rope_factors_long.weight", torch.tensor(said["long_factor"]).numpy())
        writer.add_tensor("rope_factors_short.weight", torch.tensor(said["short_factor"]).numpy())
    elif kind != "default":
        return False
    if getattr(c, "sliding_window", None):
        writer.add_sliding_window(c.sliding_window)
    for name, value in variants.weights_of(model).items():
        if "q_proj" in name:
            value = permuted(value, c.num_attention_heads, turned)
        if "k_proj" in name:
            value = permuted(value, c.num_key_value_heads, turned)
        for theirs, ours in GGUF_NAMES:
            name = name.replace(theirs, ours)
        writer.add_tensor(name, value.contiguous().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return True


with tempfile.TemporaryDirectory() as name, torch.inference_mode():
    place = pathlib.Path(name)
    for number, (title, config) in enumerate(variants.VARIANTS.items()):
        model = variants.made(config)
        as_trained(model, number)
        ids = torch.randint(config["vocab_size"], (2, 16), generator=torch.Generator().manual_seed(number))
        expected = variants.outputs(model, ids)
        kind = {"mistral": "llama"}.get(config["model_type"], config["model_type"])
        folder = place / title
        model.save_pretrained(folder)  # with its own config.json
        check(kind, folder, ids, expected, place, title)
        (folder / "config.json").write_text(json.dumps(config))  # as an older file says it
        check(kind, folder, ids, expected, place, f"{title}, as it was said")
        if kind == "llama" and gguf and write_gguf(place / f"{title}.gguf", model, config):
            check(kind, place / f"{title}.gguf", ids, expected, place, f"{title}.gguf")
    print("" if gguf else "without gguf: no .gguf")
