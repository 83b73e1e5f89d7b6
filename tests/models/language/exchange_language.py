"""Hands models with random weights from PyTorch to Kiln: exchange_language.py PROGRAM, which is language_outputs.

Each is saved as .pt, .safetensors and, what is a Llama, .gguf; the program's outputs must be PyTorch's to 1e-4, whole and
token by token. Without gguf, those files are left out."""
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

import language_reference as reference

PROGRAM = sys.argv[1]


def random_weights(shapes, seed):
    """As trained ones are: of a size at which attention and activations are far from linear."""
    draw = torch.Generator().manual_seed(seed)
    return {name: torch.randn(shape, generator=draw) * 0.5 + (1 if "norm" in name.lower() or ".ln_" in name else 0)
            for name, shape in shapes.items()}


def outputs(kind, path, inputs, folder):
    save_file(inputs, folder / "inputs.safetensors")
    subprocess.run([PROGRAM, kind, str(path), str(folder / "inputs.safetensors"), str(folder / "outputs.safetensors")],
                   check=True)
    return load_file(folder / "outputs.safetensors")


def compare(actual, expected, what):
    assert actual.shape == expected.shape, f"{what}: {tuple(actual.shape)}, expected {tuple(expected.shape)}"
    worst = ((actual - expected).abs() / (1 + expected.abs())).max().item()
    assert worst < 1e-4, f"{what}: differs by {worst}"
    print(f"ok {what}: within {worst:.1e}")


def folder_of(place, name, config, weights, extension):
    folder = place / name
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    if extension == "safetensors":
        save_file(weights, folder / "model.safetensors")
    else:
        torch.save(weights, folder / "pytorch_model.bin")
    return folder


def exchange_decoder(place, name, config, weights, model, path, ids):
    found = outputs(name, path, {"ids": ids}, place)
    compare(found["logits"], model(weights, ids, config), f"{path.name}, whole")
    compare(found["cached"], model(weights, ids, config), f"{path.name}, token by token")


def exchange_gpt2(place):
    config = reference.GPT2
    weights = random_weights(reference.gpt2_shapes(), 1)
    ids = torch.randint(config["vocab_size"], (3, config["n_positions"]), generator=torch.Generator().manual_seed(2))
    bare = {name.removeprefix("transformer."): value for name, value in weights.items()}
    mask = {f"h.{i}.attn.bias": torch.ones(1, 1, 12, 12).tril() for i in range(config["n_layer"])}
    whole = {**weights, "lm_head.weight": weights["transformer.wte.weight"].clone()}
    for title, state, extension in (("gpt2_pt", whole, "pt"), ("gpt2_bare", {**bare, **mask}, "safetensors")):
        folder = folder_of(place, title, config, state, extension)
        exchange_decoder(place, "gpt2", config, weights, reference.gpt2, folder, ids)


def permuted(weight, heads):
    """Rows of queries and keys as GGUF has them: neighbours are turned together, not halves."""
    return weight.view(heads, 2, -1, weight.shape[1]).transpose(1, 2).reshape(weight.shape)


GGUF_NAMES = (("model.embed_tokens", "token_embd"), ("model.norm", "output_norm"), ("lm_head", "output"),
              ("model.layers", "blk"), ("self_attn.q_proj", "attn_q"), ("self_attn.k_proj", "attn_k"),
              ("self_attn.v_proj", "attn_v"), ("self_attn.o_proj", "attn_output"), ("mlp.gate_proj", "ffn_gate"),
              ("mlp.up_proj", "ffn_up"), ("mlp.down_proj", "ffn_down"), ("post_attention_layernorm", "ffn_norm"),
              ("input_layernorm", "attn_norm"))


def write_gguf(path, c, weights):
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(c["max_position_embeddings"])
    writer.add_embedding_length(c["hidden_size"])
    writer.add_block_count(c["num_hidden_layers"])
    writer.add_feed_forward_length(c["intermediate_size"])
    writer.add_head_count(c["num_attention_heads"])
    writer.add_head_count_kv(c["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(c["rms_norm_eps"])
    writer.add_rope_freq_base(c["rope_theta"])
    for name, value in weights.items():
        if "q_proj" in name:
            value = permuted(value, c["num_attention_heads"])
        if "k_proj" in name:
            value = permuted(value, c["num_key_value_heads"])
        for theirs, ours in GGUF_NAMES:
            name = name.replace(theirs, ours)
        writer.add_tensor(name, value.contiguous().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def exchange_llama(place):
    config = reference.LLAMA
    weights = random_weights(reference.llama_shapes(), 3)
    tied = {name: value for name, value in weights.items() if name != "lm_head.weight"}
    scaled = {**config, "rope_scaling": {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0,
                                         "high_freq_factor": 4.0, "original_max_position_embeddings": 8}}
    ids = torch.randint(config["vocab_size"], (2, 16), generator=torch.Generator().manual_seed(4))
    for title, c, state, extension in (("llama", config, weights, "safetensors"), ("llama_pt", config, weights, "pt"),
                                       ("llama_tied", {**config, "tie_word_embeddings": True}, tied, "safetensors"),
                                       ("llama_scaled", scaled, weights, "safetensors")):
        folder = folder_of(place, title, c, state, extension)
        exchange_decoder(place, "llama", c, state, reference.llama, folder, ids)
    if not gguf:
        print("without gguf: no .gguf")
        return
    for title, state in (("llama.gguf", weights), ("llama_tied.gguf", tied)):
        write_gguf(place / title, config, state)
        exchange_decoder(place, "llama", config, state, reference.llama, place / title, ids)


def exchange_bert(place):
    config = reference.BERT
    weights = random_weights(reference.bert_shapes(), 5)
    draw = torch.Generator().manual_seed(6)
    ids = torch.randint(config["vocab_size"], (3, 10), generator=draw)
    segments = torch.randint(2, (3, 10), generator=draw)
    there = torch.arange(10) < torch.tensor([[10], [7], [1]])
    around = {**{f"bert.{name}": value for name, value in weights.items()}, "cls.predictions.bias": torch.zeros(23)}
    old = {name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): value
           for name, value in weights.items()}
    for title, state, extension in (("bert", {**weights, "embeddings.position_ids": torch.arange(10)}, "safetensors"),
                                    ("bert_around", around, "pt"), ("bert_old", old, "pt")):
        folder = folder_of(place, title, config, state, extension)
        found = outputs("bert", folder, {"ids": ids, "segments": segments, "there": there}, place)
        hidden, pooled = reference.bert(weights, ids, segments, there)
        compare(found["hidden"][there], hidden[there], f"{title}, hidden")
        compare(found["pooled"], pooled, f"{title}, pooled")


with tempfile.TemporaryDirectory() as name, torch.inference_mode():
    for exchange in (exchange_gpt2, exchange_llama, exchange_bert):
        exchange(pathlib.Path(name))
