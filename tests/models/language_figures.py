#!/usr/bin/env python3
"""Writes language_figures.json: what PyTorch makes of small language models whose weights a formula fills.
usage: language_figures.py"""
import json
import math
import pathlib

import torch

import language_reference as reference


def weights(shapes):
    """Element i of tensor k, counted in the order of the names: tests/models/published.cpp has the same."""
    result = {}
    for k, (name, shape) in enumerate(sorted(shapes.items())):
        i = torch.arange(math.prod(shape), dtype=torch.float64)
        value = ((i + 1) * 0.7548776662466927 + (k + 1) * 0.5698402909980532).remainder(1) - 0.5
        result[name] = (value + (1 if len(shape) == 1 and name.endswith("weight") else 0)).float().reshape(shape)
    return result


def described(config, shapes, **numbers):
    """An object with a line for each member; numbers have nine digits, all that a float32 has."""
    members = {"config": json.dumps(config), "weights": json.dumps(dict(sorted(shapes.items())), separators=(",", ":"))}
    for what, values in numbers.items():
        members[what] = "[" + ",".join(f"{value:.9g}" for value in values.flatten().tolist()) + "]"
    return "{" + ",\n".join(f"{json.dumps(name)}: {value}" for name, value in members.items()) + "}"


with torch.inference_mode():
    shapes = reference.gpt2_shapes()
    ids = torch.tensor([[3, 18, 0, 7, 7, 11, 2], [5, 1, 4, 16, 9, 2, 6]])
    gpt2 = described(reference.GPT2, shapes, ids=ids, logits=reference.gpt2(weights(shapes), ids))
    shapes = reference.llama_shapes()
    ids = torch.tensor([[16, 3, 3, 0, 8, 11, 1, 5], [2, 9, 4, 7, 12, 6, 15, 10]])
    llama = described(reference.LLAMA, shapes, ids=ids, logits=reference.llama(weights(shapes), ids))
    shapes = reference.bert_shapes()
    ids = torch.tensor([[1, 20, 7, 7, 2, 15], [22, 4, 9, 0, 0, 0]])
    segments = torch.tensor([[0, 0, 0, 1, 1, 1], [0, 0, 1, 0, 0, 0]])
    there = torch.arange(6) < torch.tensor([[6], [3]])
    hidden, pooled = reference.bert(weights(shapes), ids, segments, there)
    bert = described(reference.BERT, shapes, ids=ids, segments=segments, there=there.long(), hidden=hidden, pooled=pooled)
pathlib.Path(__file__).with_suffix(".json").write_text(
    f'{{"made_with": "PyTorch {torch.__version__}",\n"gpt2": {gpt2},\n"llama": {llama},\n"bert": {bert}}}\n')
