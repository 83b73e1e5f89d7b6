"""Weights of a formula, and how figures of language models are written."""
import json
import math

import torch


def weights(shapes):
    """Element i of tensor k, counted in the order of the names: tests/models/language/published.cpp has the same."""
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
