#!/usr/bin/env python3
"""Writes transformers_figures.json: what the package transformers makes of small language models whose weights a formula
fills, for each config of transformers_variants.py.
usage: transformers_figures.py > transformers_figures.json"""
import json
import math

import torch

import transformers_variants as variants


def fill(model):
    """Element i of tensor k, counted in the order of the names: tests/models/language/published.cpp has the same."""
    weights = variants.weights_of(model)
    for k, (name, value) in enumerate(sorted(weights.items())):
        i = torch.arange(math.prod(value.shape), dtype=torch.float64)
        filled = ((i + 1) * 0.7548776662466927 + (k + 1) * 0.5698402909980532).remainder(1) - 0.5
        shift = 1 if value.dim() == 1 and name.endswith("weight") else 0
        value.copy_((filled + shift).float().reshape(value.shape))
    return weights


def numbers(values):
    return [float(f"{value:.7g}") for value in values.flatten().tolist()]


with torch.inference_mode():
    rows = []
    for title, config in variants.VARIANTS.items():
        model = variants.made(config)
        weights = fill(model)
        ids = torch.tensor([[16, 3, 3, 0, 8, 11, 1, 5, 2, 9, 4, 7, 12, 6, 15, 10]])
        found = variants.outputs(model, ids)
        whole, steps = (found["hidden"], found["pooled"]) if "hidden" in found else (found["logits"], found["steps"])
        same = whole.shape == steps.shape and (whole - steps).abs().max() < 1e-6
        saved = {key: value for key, value in model.config.to_dict().items() if key != "_name_or_path"}
        rows.append({"name": title, "config": config, "saved": saved,
                     "weights": {name: list(value.shape) for name, value in sorted(weights.items())},
                     "ids": ids.flatten().tolist(), "whole": numbers(whole), "steps": [] if same else numbers(steps)})
    print("[" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows) + "]")
