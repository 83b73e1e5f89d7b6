#!/usr/bin/env python3
"""Writes torch_figures.hpp: the losses of recipes_test.cpp's programs by PyTorch, in float64, from weights that are waves
(tests/models/waves.py).

usage: torch_figures.py > torch_figures.hpp"""
import pathlib
import sys

import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "models"))
from waves import filled, wave  # noqa: E402

torch.set_default_dtype(torch.float64)


class Mlp(nn.Module):
    def __init__(self, a, b, c):
        super().__init__()
        self.a, self.b = nn.Linear(a, b), nn.Linear(b, c)

    def forward(self, x):
        return self.b(self.a(x).tanh())


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.norm, self.b = nn.Linear(4, 6, bias=False), nn.BatchNorm1d(6), nn.Linear(6, 3)

    def forward(self, x):
        return self.b(F.gelu(self.norm(self.a(x))))


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.seed, self.u, self.v = nn.Linear(2, 4), nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, z):
        return self.v(F.leaky_relu(self.u(F.leaky_relu(self.seed(z), 0.2)), 0.2))


x, y, z = wave("x", (16, 4)), wave("y", (16, 3)), wave("z", (16, 2))


def step(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def adversaries():
    generator, critic = filled(Generator()), filled(Mlp(4, 8, 1))
    generator.v.weight = generator.u.weight
    of_generator = torch.optim.Adam(generator.parameters(), lr=0.01, betas=(0.5, 0.9))
    of_critic = torch.optim.RMSprop(critic.parameters(), lr=0.01)
    told = F.binary_cross_entropy_with_logits
    one, zero = torch.ones(16, 1), torch.zeros(16, 1)
    for _ in range(6):
        yield step(of_critic, told(critic(x), one) + told(critic(generator(z).detach()), zero))
        yield step(of_generator, told(critic(generator(z)), one))


def fine_tuning():
    """The head alone under the statistics that the norm came with; then all of it, at another rate below the head."""
    model, labels = filled(Normed()), torch.arange(16) % 3
    body = [*model.a.parameters(), *model.norm.parameters()]
    model.train().norm.eval()
    for p in body:
        p.requires_grad_(False)
    optimizer = torch.optim.AdamW(model.b.parameters(), lr=0.01, weight_decay=0.1)
    for _ in range(4):
        yield step(optimizer, F.cross_entropy(model(x), labels))
    for p in body:
        p.requires_grad_(True)
    optimizer.add_param_group({"params": body, "lr": 0.001})
    model.norm.train()
    for _ in range(4):
        yield step(optimizer, F.cross_entropy(model(x), labels))
    yield F.cross_entropy(model.eval()(x), labels).item()


def low_rank():
    model = filled(Mlp(4, 6, 3)).requires_grad_(False)
    a1, a2 = (0.5 * wave(name, shape) for name, shape in (("a1", (2, 4)), ("a2", (2, 6))))
    a1, b1, a2, b2 = params = [nn.Parameter(p) for p in (a1, torch.zeros(6, 2), a2, torch.zeros(3, 2))]
    optimizer = torch.optim.Adam(params, lr=0.02)
    for _ in range(6):
        hidden = F.linear(x, model.a.weight + 2 * b1 @ a1, model.a.bias).tanh()
        yield step(optimizer, F.mse_loss(F.linear(hidden, model.b.weight + 2 * b2 @ a2, model.b.bias), y))


def meta_learning():
    """Finn et al.: what is learned is from where two steps of gradient descent get far, by gradients of gradients."""
    model = filled(Mlp(4, 6, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(5):
        total = 0
        for task in range(3):
            params, part = dict(model.named_parameters()), slice(4 * task, 4 * task + 4)
            for _ in range(2):
                loss = F.mse_loss(torch.func.functional_call(model, params, (x[part],)), y[part])
                grads = torch.autograd.grad(loss, list(params.values()), create_graph=True)
                params = {name: p - 0.1 * g for (name, p), g in zip(params.items(), grads)}
            total = total + F.mse_loss(torch.func.functional_call(model, params, (x[12:],)), y[12:])
        yield step(optimizer, total)


print(f"// What torch_figures.py found with PyTorch {torch.__version__.split('+')[0]}. Do not edit.")
print("// clang-format off\n#pragma once\n\nnamespace kiln {\n")
for name, recipe in (("Adversaries", adversaries), ("FineTuning", fine_tuning), ("LowRank", low_rank),
                     ("MetaLearning", meta_learning)):
    print(f"inline constexpr double k{name}[] = {{{', '.join(f'{loss:.10g}' for loss in recipe())}}};")
print("\n}  // namespace kiln")
