"""Configs of language models as files have them, and what the package transformers computes from each: for
transformers_figures.py, which stores some of it, and exchange_transformers.py, which compares random weights."""
import json
import tempfile

import torch
import transformers
from transformers.models.llama import modeling_llama
from transformers.models.phi3 import modeling_phi3

transformers.logging.set_verbosity_error()

LLAMA = {"model_type": "llama", "vocab_size": 17, "hidden_size": 24, "intermediate_size": 20, "num_hidden_layers": 2,
         "num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 16, "rms_norm_eps": 1e-6,
         "tie_word_embeddings": False, "hidden_act": "silu"}
GPT2 = {"model_type": "gpt2", "vocab_size": 17, "n_positions": 16, "n_embd": 12, "n_head": 3, "n_layer": 3,
        "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new"}
BERT = {"model_type": "bert", "vocab_size": 17, "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 2,
        "intermediate_size": 20, "max_position_embeddings": 16, "type_vocab_size": 2, "hidden_act": "gelu"}


def rope(kind, **keys):
    return {**LLAMA, "rope_parameters": {"rope_type": kind, "rope_theta": 100.0, **keys}}


def stretched(kind, **keys):
    return rope(kind, factor=4.0, original_max_position_embeddings=4, **keys)


VARIANTS = {
    "llama": LLAMA,
    "llama_theta": rope("default"),
    "llama_theta_old": {**LLAMA, "rope_theta": 100.0},
    "llama_linear": rope("linear", factor=4.0),
    "llama_linear_old": {**LLAMA, "rope_theta": 100.0, "rope_scaling": {"type": "linear", "factor": 4.0}},
    # Speeds that change with a sequence's length: of one layer, since states of deeper ones that a cache holds were computed
    # with the speeds of their time.
    "llama_dynamic": {**rope("dynamic", factor=2.0), "max_position_embeddings": 8, "num_hidden_layers": 1},
    "llama_yarn": stretched("yarn"),
    "llama_yarn_mscale": stretched("yarn", mscale=0.7, mscale_all_dim=0.4, beta_fast=8.0, beta_slow=0.5),
    "llama_yarn_whole": stretched("yarn", truncate=False, attention_factor=1.25),
    "llama_llama3": stretched("llama3", low_freq_factor=1.0, high_freq_factor=4.0),
    "llama_longrope": {**stretched("longrope", short_factor=[1.0, 1.1, 1.2, 1.3, 1.4, 1.5],
                                   long_factor=[1.0, 1.5, 2.0, 3.0, 4.0, 6.0]), "num_hidden_layers": 1},
    "llama_partial": rope("default", partial_rotary_factor=0.5),
    "llama_partial_yarn": stretched("yarn", partial_rotary_factor=0.5),
    "llama_tied": {**rope("default"), "tie_word_embeddings": True, "head_dim": 8},
    "mistral_window": {**LLAMA, "model_type": "mistral", "sliding_window": 4},
    "mistral_no_window": {**LLAMA, "model_type": "mistral", "sliding_window": None},
    "gpt2": GPT2,
    "gpt2_by_layer": {**GPT2, "scale_attn_by_inverse_layer_idx": True},
    "gpt2_unscaled": {**GPT2, "scale_attn_weights": False},
    "gpt2_unscaled_by_layer": {**GPT2, "scale_attn_weights": False, "scale_attn_by_inverse_layer_idx": True,
                               "reorder_and_upcast_attn": True},
    "gpt2_inner": {**GPT2, "n_inner": 20, "activation_function": "relu"},
    "gpt2_gelu": {**GPT2, "activation_function": "gelu", "tie_word_embeddings": False},
    "bert": BERT,
    "bert_tanh": {**BERT, "hidden_act": "gelu_new"},
    "bert_silu": {**BERT, "hidden_act": "silu"},
}


def read(config):
    """As transformers reads a file that says so."""
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/config.json", "w") as file:
            json.dump(config, file)
        return transformers.AutoConfig.from_pretrained(folder)


def made(config):
    """A model with random weights."""
    read_config = read(config)
    read_config._attn_implementation = "eager"
    kind = transformers.AutoModel if config["model_type"] == "bert" else transformers.AutoModelForCausalLM
    model = kind.from_config(read_config, attn_implementation="eager").eval()
    part = config.get("rope_parameters", {}).get("partial_rotary_factor", 1)
    # Llama's own function has no place for a part of a head; that of Phi-3, which is else the same, has.
    modeling_llama.apply_rotary_pos_emb = WHOLE if part == 1 else modeling_phi3.apply_rotary_pos_emb
    if part != 1:
        model.model.rotary_emb = modeling_phi3.Phi3RotaryEmbedding(read_config)
    return model


WHOLE = modeling_llama.apply_rotary_pos_emb


def weights_of(model):
    """Without those that are others' names."""
    state = model.state_dict()
    tied = set() if not getattr(model.config, "tie_word_embeddings", False) else {"lm_head.weight"}
    return {name: value for name, value in state.items() if name not in tied and value.is_floating_point()
            and "rotary_emb" not in name}


def outputs(model, ids):
    """The logits of the whole, and of each token as the last of its beginning; BERT has states and the pooler's."""
    if model.config.model_type == "bert":
        segments = (torch.arange(ids.shape[1]) >= ids.shape[1] // 2).long().expand(ids.shape)
        found = model(ids, token_type_ids=segments)
        return {"segments": segments, "hidden": found.last_hidden_state, "pooled": found.pooler_output}
    steps = torch.stack([model(ids[:, :end], use_cache=False).logits[:, -1] for end in range(1, ids.shape[1] + 1)], 1)
    return {"steps": steps, "logits": model(ids, use_cache=False).logits}
