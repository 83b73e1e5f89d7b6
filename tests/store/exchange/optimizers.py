#!/usr/bin/env python3
"""A training that PyTorch begins, Kiln goes on with, and PyTorch again: the same numbers as without the exchange.
optimizers.py PROGRAM, which is optimizer_steps."""
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
from safetensors.torch import save_file

PROGRAM = sys.argv[1]
STEPS = 20
# The rule in Kiln, its options, and the optimizer of PyTorch's.
RULES = [
    ("Sgd", {"momentum": 0.9, "nesterov": True}, "SGD", {"momentum": 0.9, "nesterov": True}),
    ("Sgd", {}, "SGD", {}),
    ("Adam", {"amsgrad": True}, "Adam", {"amsgrad": True}),
    ("AdamW", {"weight_decay": 0.1}, "AdamW", {"weight_decay": 0.1}),
    ("NAdam", {}, "NAdam", {}),
    ("RAdam", {}, "RAdam", {}),
    ("RmsProp", {"centered": True, "momentum": 0.9}, "RMSprop", {"centered": True, "momentum": 0.9}),
    ("AdaGrad", {}, "Adagrad", {}),
    ("AdaDelta", {}, "Adadelta", {}),
    ("Adafactor", {}, "Adafactor", {}),
    ("Muon", {}, "Muon", {}),
]


def newton_schulz(grad, coefficients, steps, eps):
    """What Muon does, in the gradient's own type rather than in bfloat16, which would hide all but two digits."""
    a, b, c = coefficients
    x = grad.T if grad.size(0) > grad.size(1) else grad
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if grad.size(0) > grad.size(1) else x


if hasattr(torch.optim, "Muon"):
    torch.optim._muon._zeropower_via_newtonschulz = newton_schulz
else:
    RULES.pop()


class Model(torch.nn.Module):
    def __init__(self, bias=True):
        super().__init__()
        self.lstm = torch.nn.LSTM(3, 4, 2, bidirectional=True, batch_first=True, bias=bias)
        self.head = torch.nn.Linear(8, 2, bias=bias)

    def forward(self, x):
        return self.head(self.lstm(x)[0])


def train(model, optimizer, x, y):
    for _ in range(STEPS):
        optimizer.zero_grad()
        (model(x) - y).square().mean().backward()
        optimizer.step()


def theirs(name):
    """Kiln's name of a parameter, by PyTorch's."""
    if not name.startswith("lstm."):
        return name
    kind, layer = name[len("lstm."):].replace("_reverse", "").rsplit("_l", 1)
    return f"lstm.{'reversed' if name.endswith('_reverse') else 'layers'}.{layer}.{kind}"


def worst(model, expected):
    return max((p - expected[name]).abs().max().item() for name, p in model.state_dict().items())


torch.manual_seed(1)
x, y = torch.randn(4, 5, 3), torch.randn(4, 5, 2)
with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    save_file({"x": x, "y": y}, folder / "data.safetensors")
    for rule, options, peer, peers_options in RULES:
        rate = 0.01 if rule != "AdaDelta" else 0.1  # at 1, its usual rate, PyTorch's own runs part by 1e-3
        bias = rule != "Muon"  # which takes matrices alone
        model = Model(bias)
        optimizer = getattr(torch.optim, peer)(model.named_parameters(), lr=rate, **peers_options)
        train(model, optimizer, x, y)
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, folder / "checkpoint.pt")
        config = json.dumps({"rule": {rule: options}})
        subprocess.run([PROGRAM, config, str(rate), str(STEPS), folder / "checkpoint.pt", folder / "data.safetensors",
                        folder / "model.pt", folder / "optimizer.pt"], check=True)
        train(model, optimizer, x, y)
        found = torch.load(folder / "model.pt")
        there = {name: found[theirs(name)] for name in model.state_dict()}
        ahead = worst(model, there)
        back = Model(bias)
        back.load_state_dict(there)
        again = getattr(torch.optim, peer)(back.parameters(), lr=rate, **peers_options)
        again.load_state_dict(again.state_dict() | torch.load(folder / "optimizer.pt"))
        train(back, again, x, y)
        train(model, optimizer, x, y)
        behind = worst(model, back.state_dict())
        print(f"{rule}: off by {ahead:.1e} in Kiln, {behind:.1e} back in PyTorch")
        assert ahead <= 1e-5 and behind <= 2e-5, rule
