"""Stores what PyTorch, NumPy and SciPy make of small inputs, for the tests to compare Kiln with.

A case is a name, its inputs and what another library makes of them; where PyTorch differentiates the function, also
the gradients of sum(output * weights) with weights cos(1), cos(2), ... counted over all float outputs. The row of the
same name in tests/golden/*.cpp says how Kiln computes it."""
import json
import math
import pathlib
import struct
import zlib

import numpy as np
import torch

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
tensors = {}


class Numbers:
    """Inputs of one case: multiples of 1/64, distinct, the same whenever the case bears the same name."""

    def __init__(self, name):
        self.rng = np.random.default_rng(zlib.crc32(name.encode()))

    def real(self, *shape, low=-2.0, high=2.0):
        count = math.prod(shape)
        steps = np.round(np.linspace(low, high, count + 2)[1:-1] * 64) / 64
        return torch.from_numpy(self.rng.permutation(steps).reshape(shape) + 1 / 256)

    def whole(self, *shape, low=0, high=8):
        return torch.from_numpy(self.rng.integers(low, high, shape))

    def flag(self, *shape):
        return torch.from_numpy(self.rng.integers(0, 2, shape).astype(bool))


def store(name, value):
    if isinstance(value, torch.Tensor):
        value = value.detach()
        value = (torch.view_as_real(value.resolve_conj()) if value.is_complex() else value).contiguous().numpy()
    value = np.asarray(value)
    if np.iscomplexobj(value):
        value = np.stack([value.real, value.imag], -1)
    kind = {"f": np.float64, "i": np.int64, "u": np.int64, "b": np.bool_}[value.dtype.kind]
    assert name not in tensors, name
    tensors[name] = np.array(value, dtype=kind, order="C")


def flat(value):
    return list(value) if isinstance(value, (tuple, list)) else [value]


def case(name, make, function, grad=True):
    """`make(Numbers)` gives the inputs, `function(*inputs)` one output or several."""
    inputs = flat(make(Numbers(name)))
    differentiable = [grad and torch.is_floating_point(x) for x in inputs]
    for i, x in enumerate(inputs):
        store(f"{name}/in{i}", x)
    inputs = [x.clone().requires_grad_() if d else x for x, d in zip(inputs, differentiable)]
    outputs = flat(function(*inputs))
    for i, y in enumerate(outputs):
        store(f"{name}/out{i}", y)
    tracked = [y for y in outputs if isinstance(y, torch.Tensor) and y.requires_grad]
    if not tracked:
        return
    loss, at = 0, 1
    for y in tracked:
        y = torch.view_as_real(y) if y.is_complex() else y
        loss = loss + (y.reshape(-1) * torch.cos(torch.arange(at, at + y.numel()))).sum()
        at += y.numel()
    wanted = [x for x, d in zip(inputs, differentiable) if d]
    for i, gradient in enumerate(torch.autograd.grad(loss, wanted, allow_unused=True)):
        if gradient is not None:
            store(f"{name}/grad{[j for j, d in enumerate(differentiable) if d][i]}", gradient)


def other(name, make, function):
    """The same for NumPy and SciPy, which give no gradient."""
    case(name, make, lambda *inputs: function(*[x.numpy() for x in inputs]), grad=False)


def write(path):
    """All cases as a safetensors file."""
    header, data = {}, b""
    for name, value in sorted(tensors.items(), key=lambda item: (item[1].dtype == np.bool_, item[0])):
        kind = {"float64": "F64", "int64": "I64", "bool": "BOOL"}[str(value.dtype)]
        header[name] = {"dtype": kind, "shape": value.shape, "data_offsets": [len(data), len(data) + value.nbytes]}
        data += value.tobytes()
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)
    print(f"{len({name.split('/')[0] for name in tensors})} cases, {pathlib.Path(path).stat().st_size} bytes")
