#!/usr/bin/env python3
"""Writes encoder_figures.json: what the package transformers makes of a small RoBERTa and a small ALBERT whose weights a
formula fills. usage: encoder_figures.py"""
import json
import pathlib

import torch
import transformers

from language_figures_format import described, weights

PADDING = 1
SIZES = {"vocab_size": 23, "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 20,
         "max_position_embeddings": 12, "pad_token_id": PADDING, "hidden_act": "gelu"}
ROBERTA = {"model_type": "roberta", **SIZES, "type_vocab_size": 1, "layer_norm_eps": 1e-5, "bos_token_id": 0,
           "eos_token_id": 2}
ALBERT = {"model_type": "albert", **SIZES, "embedding_size": 6, "type_vocab_size": 2, "num_hidden_groups": 1,
          "inner_group_num": 1, "hidden_act": "gelu_new", "num_hidden_layers": 3}


def filled(kind, config):
    read = {key: value for key, value in config.items() if key != "model_type"}
    model = kind[1](kind[0](**read)).eval()
    shapes = {name: list(x.shape) for name, x in model.state_dict().items() if x.is_floating_point()}
    model.load_state_dict(weights(shapes), strict=False)
    return model, shapes


def figures(kind, config, ids, segments):
    model, shapes = filled(kind, config)
    there = ids != PADDING
    found = model(ids, token_type_ids=segments, attention_mask=there.long())
    return described(config, shapes, ids=ids, segments=segments, there=there.long(), hidden=found.last_hidden_state,
                     pooled=found.pooler_output)


with torch.inference_mode():
    # The first row is filled up at its beginning.
    ids = torch.tensor([[1, 1, 0, 20, 7, 2], [0, 22, 4, 9, 2, 1]])
    roberta = figures((transformers.RobertaConfig, transformers.RobertaModel), ROBERTA, ids, torch.zeros_like(ids))
    ids = torch.tensor([[3, 20, 7, 7, 2, 15], [22, 4, 9, 1, 1, 1]])
    segments = torch.tensor([[0, 0, 0, 1, 1, 1], [0, 0, 1, 0, 0, 0]])
    albert = figures((transformers.AlbertConfig, transformers.AlbertModel), ALBERT, ids, segments)
pathlib.Path(__file__).with_suffix(".json").write_text(
    f'{{"made_with": "transformers {transformers.__version__}, PyTorch {torch.__version__}",\n"roberta": {roberta},\n'
    f'"albert": {albert}}}\n')
