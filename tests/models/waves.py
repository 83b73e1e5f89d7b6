"""Weights that are waves of their names, as waves.hpp has them."""
import math

import torch


def wave(name, shape):
    count = torch.arange(math.prod(shape), dtype=torch.float64)
    return torch.sin(0.7 * count * count + sum(name.encode())).reshape(shape)


def parameter(name, shape):
    if not shape:
        return torch.zeros((), dtype=torch.int64)
    if name.endswith("running_var"):
        return 1 + 0.5 * wave(name, shape)
    if len(shape) == 1:
        return (1 if name.endswith("weight") else 0) + 0.2 * wave(name, shape)
    return wave(name, shape) * math.sqrt(2 / math.prod(shape[1:]))


def filled(model):
    model.load_state_dict({name: parameter(name, tuple(x.shape)) for name, x in model.state_dict().items()})
    return model
