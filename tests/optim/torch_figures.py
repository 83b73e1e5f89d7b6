#!/usr/bin/env python3
"""Writes torch_figures.hpp: where PyTorch's optimizers and schedules get to. usage: torch_figures.py > torch_figures.hpp"""
import math

import torch
from torch.optim import lr_scheduler as schedulers

SHAPES, STEPS = ((2, 3), (3, 2), (3,)), 50


def newton_schulz(grad, coefficients, steps, eps):
    """What Muon does, in the gradient's own type rather than in bfloat16, which would hide all but two digits."""
    a, b, c = coefficients
    x = grad.T if grad.size(0) > grad.size(1) else grad
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if grad.size(0) > grad.size(1) else x


torch.optim._muon._zeropower_via_newtonschulz = newton_schulz


def final(make, shapes):
    """All elements after STEPS steps, down gradients that depend on the element, on the step and on its place."""
    params = []
    for k, shape in enumerate(shapes):
        start = [math.cos(1.7 * i + k) for i in range(math.prod(shape))]
        params.append(torch.tensor(start, dtype=torch.float64).reshape(shape).requires_grad_())
    optimizer = make(params)
    for t in range(1, STEPS + 1):
        for k, p in enumerate(params):
            place = torch.arange(p.numel(), dtype=torch.float64).reshape(p.shape)
            p.grad = 0.5 * p.detach() + torch.sin(1.3 * t + 2.1 * place + k) + 0.1
        optimizer.step()
    return [x for p in params for x in p.detach().flatten().tolist()]


def lbfgs(**options):
    """A valley that bends, of a matrix and a vector; all elements after each of the first six steps, and after STEPS."""
    a, b = (torch.tensor([math.cos(1.7 * i + k) for i in range(n)], dtype=torch.float64) for k, n in ((0, 6), (2, 3)))
    a, b = a.reshape(2, 3).requires_grad_(), b.requires_grad_()
    optimizer, found = torch.optim.LBFGS([a, b], **options), []

    def closure():
        optimizer.zero_grad()
        valley = (10 * (b[1:] - b[:-1] ** 2) ** 2 + (1 - b[:-1]) ** 2).sum()
        loss = valley + ((a + 0.3 * b) ** 2).sum() + 0.1 * (a ** 4).sum()
        loss.backward()
        return loss

    for step in range(1, STEPS + 1):
        optimizer.step(closure)
        if step <= 6 or step == STEPS:
            found += a.detach().flatten().tolist() + b.detach().tolist()
    return found


o = torch.optim
RULES = {
    "Sgd": lambda p: o.SGD(p, lr=0.05, weight_decay=0.1),
    "SgdMomentum": lambda p: o.SGD(p, lr=0.05, momentum=0.9, dampening=0.2, weight_decay=0.1),
    "SgdNesterov": lambda p: o.SGD(p, lr=0.05, momentum=0.9, nesterov=True),
    "Adam": lambda p: o.Adam(p, lr=0.05, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.3),
    "AdamAmsgrad": lambda p: o.Adam(p, lr=0.05, betas=(0.9, 0.9), amsgrad=True),
    "AdamW": lambda p: o.AdamW(p, lr=0.05, weight_decay=0.3),
    "AdamWAmsgrad": lambda p: o.AdamW(p, lr=0.05, betas=(0.9, 0.9), amsgrad=True),
    "AdaGrad": lambda p: o.Adagrad(p, lr=0.2, lr_decay=0.01, weight_decay=0.1, initial_accumulator_value=0.2),
    "AdaDelta": lambda p: o.Adadelta(p, lr=0.7, rho=0.8, eps=1e-3, weight_decay=0.1),
    "RmsProp": lambda p: o.RMSprop(p, lr=0.02, alpha=0.9),
    "RmsPropCentered": lambda p: o.RMSprop(p, lr=0.002, weight_decay=0.1, momentum=0.5, centered=True),
    "NAdam": lambda p: o.NAdam(p, lr=0.05, weight_decay=0.1),
    "NAdamDecoupled": lambda p: o.NAdam(p, lr=0.05, weight_decay=0.1, decoupled_weight_decay=True),
    "RAdam": lambda p: o.RAdam(p, lr=0.05, weight_decay=0.1),
    "RAdamDecoupled": lambda p: o.RAdam(p, lr=0.05, betas=(0.9, 0.9), weight_decay=0.1, decoupled_weight_decay=True),
    "Adafactor": lambda p: o.Adafactor(p, lr=0.1, weight_decay=0.1),
    "AdafactorThreshold": lambda p: o.Adafactor(p, lr=0.3, beta2_decay=-0.5, eps=(1e-3, 1e-3), d=1.5),
    "Muon": lambda p: o.Muon(p, lr=0.05),
    "MuonLikeAdamW": lambda p: o.Muon(p, lr=0.05, momentum=0.8, weight_decay=0, nesterov=False,
                                      adjust_lr_fn="match_rms_adamw"),
    "MuonSpectral": lambda p: o.Muon(p, lr=0.05, adjust_lr_fn="spectral_unclamped"),
}


def rates(make, count=40, lr=0.5):
    """The rates of the first `count` steps."""
    optimizer = o.SGD([torch.zeros(1, requires_grad=True)], lr=lr)
    scheduler, found = make(optimizer), []
    for _ in range(count):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return found


def plateau_rates(metrics, **options):
    optimizer = o.SGD([torch.zeros(1, requires_grad=True)], lr=0.5)
    scheduler, found = schedulers.ReduceLROnPlateau(optimizer, **options), []
    for metric in metrics:
        scheduler.step(metric)
        found.append(optimizer.param_groups[0]["lr"])
    return found


def metric(i):
    """Falls, stays, jumps and falls again."""
    return 1 / (1 + i) if i < 8 else 0.12 + 0.01 * math.sin(i) if i < 30 else 0.02


s = schedulers
SCHEDULES = {
    "Linear": lambda: rates(lambda x: s.LinearLR(x, start_factor=0.2, end_factor=1, total_iters=17)),
    "Cosine": lambda: rates(lambda x: s.CosineAnnealingLR(x, T_max=39, eta_min=0.02)),
    "CosineRestarts": lambda: rates(lambda x: s.CosineAnnealingWarmRestarts(x, T_0=5, T_mult=2, eta_min=0.02)),
    "Exponential": lambda: rates(lambda x: s.ExponentialLR(x, gamma=0.93)),
    "Step": lambda: rates(lambda x: s.StepLR(x, step_size=7, gamma=0.4)),
    "MultiStep": lambda: rates(lambda x: s.MultiStepLR(x, milestones=[4, 5, 19], gamma=0.3)),
    "Polynomial": lambda: rates(lambda x: s.PolynomialLR(x, total_iters=30, power=1.7)),
    "OneCycle": lambda: rates(lambda x: s.OneCycleLR(x, max_lr=0.5, total_steps=41)),
    "OneCycleLinear": lambda: rates(lambda x: s.OneCycleLR(x, max_lr=0.5, total_steps=41, pct_start=0.25,
                                                          anneal_strategy="linear", div_factor=10,
                                                          final_div_factor=100, three_phase=True)),
    "CyclicTriangular": lambda: rates(lambda x: s.CyclicLR(x, 0.1, 0.5, step_size_up=5, step_size_down=8,
                                                          cycle_momentum=False)),
    "CyclicHalving": lambda: rates(lambda x: s.CyclicLR(x, 0.1, 0.5, step_size_up=6, mode="triangular2",
                                                       cycle_momentum=False)),
    "CyclicExponential": lambda: rates(lambda x: s.CyclicLR(x, 0.1, 0.5, step_size_up=6, mode="exp_range",
                                                           gamma=0.97, cycle_momentum=False)),
    "Sequential": lambda: rates(lambda x: s.SequentialLR(x, [s.LinearLR(x, start_factor=0.2, total_iters=8),
                                                            s.ExponentialLR(x, gamma=0.9)], milestones=[8])),
    "Product": lambda: rates(lambda x: s.ChainedScheduler([s.ExponentialLR(x, gamma=0.95),
                                                          s.StepLR(x, step_size=9, gamma=0.5)])),
    "Plateau": lambda: plateau_rates(map(metric, range(40)), factor=0.4, patience=3),
    "PlateauMost": lambda: plateau_rates((-metric(i) for i in range(40)), mode="max", factor=0.4, patience=2,
                                         threshold=0.01, threshold_mode="abs", cooldown=2, min_lr=0.05),
}


def literal(name, numbers):
    body = ", ".join(f"{x:.17g}" for x in numbers)
    return f"inline constexpr double kTorch{name}[] = {{{body}}};"


print(f"// What torch_figures.py found with PyTorch {torch.__version__}. Do not edit.\n"
      "// clang-format off\n#pragma once\n\nnamespace kiln {\n")
for name, make in RULES.items():
    print(literal(name, final(make, SHAPES[:2] if name.startswith("Muon") else SHAPES)))
print()
print(literal("LbfgsSearch", lbfgs(max_iter=3, history_size=3, line_search_fn="strong_wolfe")))
print(literal("LbfgsFixed", lbfgs(lr=0.3, max_iter=2, history_size=10)))
print()
for name, make in SCHEDULES.items():
    print(literal(name, make()))
print("\n}  // namespace kiln")
