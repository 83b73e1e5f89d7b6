#!/usr/bin/env python3
"""Writes yolox_figures.json: what PyTorch finds, in float64, for small YOLOX whose weights are sines.

usage: yolox_figures.py"""
import json
import pathlib
import sys

import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent), str(HERE.parents[2] / "bench/peers")]
import torch_yolox  # noqa: E402
from waves import filled, wave  # noqa: E402

torch.set_default_dtype(torch.float64)
RATE, HEIGHT, WIDTH = 0.01, 64, 96
# Left, top, right, bottom and label; the second picture has none, and two of the third lie at an edge and in one place.
TRUTH = [[(8, 10, 40, 38, 0), (50, 20, 90, 60, 2)], [],
         [(-10, -6, 14, 12, 1), (30, 16, 62, 48, 1), (34, 18, 60, 44, 0), (70, 40, 78, 46, 2)]]


def rounded(x):
    return [float(f"{v:.12g}") for v in x.detach().flatten().tolist()]


def figures(depth, width, depthwise):
    model = filled(torch_yolox.Yolox(depth, width, depthwise, classes=3))
    images = wave("images", (3, 3, HEIGHT, WIDTH))
    truth = [(torch.tensor([t[:4] for t in one], dtype=torch.float64).reshape(-1, 4),
              torch.tensor([t[4] for t in one], dtype=torch.int64)) for one in TRUTH]
    state = {name: list(x.shape) for name, x in model.state_dict().items()}
    with torch.no_grad():
        raw = model.eval()(images)
    loss, parts, count = torch_yolox.losses(model.train()(images), HEIGHT, WIDTH, truth, distance_weight=1)
    (0.01 * loss).backward()
    with torch.no_grad():
        for p in model.parameters():
            p -= RATE * p.grad
        after = model.eval()(images)
    return {"state": state, "raw": rounded(raw[0]), "losses": rounded(torch.stack([loss, *parts])), "assigned": count,
            "raw_after_step": rounded(after[0]), "parameters": sum(p.numel() for p in model.parameters())}


found = {"made_with": f"PyTorch {torch.__version__.split('+')[0]}",
         "plain": figures(1 / 3, 0.0625, False), "depthwise": figures(2 / 3, 0.0625, True)}
lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}" for key, value in found.items())
pathlib.Path(__file__).with_suffix(".json").write_text("{" + lines + "}\n")
