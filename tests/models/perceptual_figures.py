#!/usr/bin/env python3
"""Writes perceptual_figures.json: what PyTorch finds, in float64, for small AlexNets, SqueezeNets and Inceptions by
torchvision's names, whose weights are sines, and for the distances of images that they define.

usage: perceptual_figures.py"""
import functools
import json
import pathlib

import torch
from torch import nn
from torch.nn import functional as F

from waves import filled, wave

torch.set_default_dtype(torch.float64)
RATE = 0.01
STATES, NUMBERS = {}, {}


def numbers(name, x):
    NUMBERS[name] = "[" + ",".join(f"{v:.12g}" for v in x.detach().flatten().tolist()) + "]"


def names(name, model):
    STATES[name] = json.dumps({key: list(x.shape) for key, x in model.state_dict().items()}, separators=(",", ":"))


def classifier(name, model, size):
    """As in torch_figures.py: logits, the loss of a training step, and logits after it."""
    filled(model)
    images, targets = wave("images", (4, 3, size, size)), torch.arange(4) % 3
    names(name, model)
    with torch.no_grad():
        numbers(f"{name}Logits", model.eval()(images))
    loss = F.cross_entropy(model.train()(images), targets)
    numbers(f"{name}Loss", loss)
    loss.backward()
    with torch.no_grad():
        for p in model.parameters():
            p -= RATE * p.grad
        numbers(f"{name}LogitsAfterStep", model.eval()(images))


class AlexNet(nn.Module):
    def __init__(self, widths, hidden, classes):
        super().__init__()
        a, b, c, d, e = widths
        self.features = nn.Sequential(
            nn.Conv2d(3, a, 11, 4, 2), nn.ReLU(), nn.MaxPool2d(3, 2), nn.Conv2d(a, b, 5, 1, 2), nn.ReLU(),
            nn.MaxPool2d(3, 2), nn.Conv2d(b, c, 3, 1, 1), nn.ReLU(), nn.Conv2d(c, d, 3, 1, 1), nn.ReLU(),
            nn.Conv2d(d, e, 3, 1, 1), nn.ReLU(), nn.MaxPool2d(3, 2))
        self.classifier = nn.Sequential(nn.Identity(), nn.Linear(e * 36, hidden), nn.ReLU(), nn.Identity(),
                                        nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, classes))

    def forward(self, x):
        return self.classifier(F.adaptive_avg_pool2d(self.features(x), 6).flatten(1))


class Fire(nn.Module):
    def __init__(self, a, b, c):
        super().__init__()
        self.squeeze, self.expand1x1, self.expand3x3 = nn.Conv2d(a, b, 1), nn.Conv2d(b, c, 1), nn.Conv2d(b, c, 3, 1, 1)

    def forward(self, x):
        x = self.squeeze(x).relu()
        return torch.cat([self.expand1x1(x).relu(), self.expand3x3(x).relu()], 1)


class SqueezeNet(nn.Module):
    def __init__(self, w, classes):
        super().__init__()
        pool = lambda: nn.MaxPool2d(3, 2, ceil_mode=True)
        self.features = nn.Sequential(
            nn.Conv2d(3, 4 * w, 3, 2), nn.ReLU(), pool(), Fire(4 * w, w, 4 * w), Fire(8 * w, w, 4 * w), pool(),
            Fire(8 * w, 2 * w, 8 * w), Fire(16 * w, 2 * w, 8 * w), pool(), Fire(16 * w, 3 * w, 12 * w),
            Fire(24 * w, 3 * w, 12 * w), Fire(24 * w, 4 * w, 16 * w), Fire(32 * w, 4 * w, 16 * w))
        self.classifier = nn.Sequential(nn.Identity(), nn.Conv2d(32 * w, classes, 1))

    def forward(self, x):
        return self.classifier(self.features(x)).relu().mean((2, 3))


class Conv(nn.Module):
    def __init__(self, a, b, kernel, stride=1, padding=0):
        super().__init__()
        self.conv = nn.Conv2d(a, b, kernel, stride, padding, bias=False)
        self.bn = nn.BatchNorm2d(b, eps=0.001)

    def forward(self, x):
        return self.bn(self.conv(x)).relu()


average = functools.partial(F.avg_pool2d, kernel_size=3, stride=1, padding=1)
average_of_pixels = functools.partial(average, count_include_pad=False)
largest = functools.partial(F.max_pool2d, kernel_size=3, stride=1, padding=1)


class Block(nn.Module):
    """Convolutions by name, and the chains of names that are concatenated; "pool" is the pooling of the block."""

    def __init__(self, convs, chains, pool):
        super().__init__()
        for name, conv in convs.items():
            setattr(self, name, Conv(*conv))
        self.chains, self.pool = [tuple(chain.split()) for chain in chains], pool

    def forward(self, x):
        found = {}  # by chain: what two chains begin with is computed once, as it updates its norms' statistics

        def run(chain):
            if chain and chain not in found:
                found[chain] = getattr(self, chain[-1])(run(chain[:-1]))
            return found[chain] if chain else x

        return torch.cat([run(chain) for chain in self.chains], 1)


def block_a(a, pooled, w, pool):
    return Block({"branch1x1": (a, 64 // w, 1), "branch5x5_1": (a, 48 // w, 1),
                  "branch5x5_2": (48 // w, 64 // w, 5, 1, 2), "branch3x3dbl_1": (a, 64 // w, 1),
                  "branch3x3dbl_2": (64 // w, 96 // w, 3, 1, 1), "branch3x3dbl_3": (96 // w, 96 // w, 3, 1, 1),
                  "branch_pool": (a, pooled // w, 1)},
                 ["branch1x1", "branch5x5_1 branch5x5_2", "branch3x3dbl_1 branch3x3dbl_2 branch3x3dbl_3",
                  "pool branch_pool"], pool)


def halved(x):
    return F.max_pool2d(x, 3, 2)


def block_b(a, w):
    return Block({"branch3x3": (a, 384 // w, 3, 2), "branch3x3dbl_1": (a, 64 // w, 1),
                  "branch3x3dbl_2": (64 // w, 96 // w, 3, 1, 1), "branch3x3dbl_3": (96 // w, 96 // w, 3, 2)},
                 ["branch3x3", "branch3x3dbl_1 branch3x3dbl_2 branch3x3dbl_3", "pool"], halved)


def block_c(a, m, w, pool):
    m, o, row, column = m // w, 192 // w, ((1, 7), 1, (0, 3)), ((7, 1), 1, (3, 0))
    return Block({"branch1x1": (a, o, 1), "branch7x7_1": (a, m, 1), "branch7x7_2": (m, m, *row),
                  "branch7x7_3": (m, o, *column), "branch7x7dbl_1": (a, m, 1), "branch7x7dbl_2": (m, m, *column),
                  "branch7x7dbl_3": (m, m, *row), "branch7x7dbl_4": (m, m, *column), "branch7x7dbl_5": (m, o, *row),
                  "branch_pool": (a, o, 1)},
                 ["branch1x1", "branch7x7_1 branch7x7_2 branch7x7_3",
                  "branch7x7dbl_1 branch7x7dbl_2 branch7x7dbl_3 branch7x7dbl_4 branch7x7dbl_5", "pool branch_pool"], pool)


def block_d(a, w):
    m = 192 // w
    return Block({"branch3x3_1": (a, m, 1), "branch3x3_2": (m, 320 // w, 3, 2), "branch7x7x3_1": (a, m, 1),
                  "branch7x7x3_2": (m, m, (1, 7), 1, (0, 3)), "branch7x7x3_3": (m, m, (7, 1), 1, (3, 0)),
                  "branch7x7x3_4": (m, m, 3, 2)},
                 ["branch3x3_1 branch3x3_2", "branch7x7x3_1 branch7x7x3_2 branch7x7x3_3 branch7x7x3_4", "pool"], halved)


def block_e(a, w, pool):
    m, row, column = 384 // w, ((1, 3), 1, (0, 1)), ((3, 1), 1, (1, 0))
    return Block({"branch1x1": (a, 320 // w, 1), "branch3x3_1": (a, m, 1), "branch3x3_2a": (m, m, *row),
                  "branch3x3_2b": (m, m, *column), "branch3x3dbl_1": (a, 448 // w, 1),
                  "branch3x3dbl_2": (448 // w, m, 3, 1, 1), "branch3x3dbl_3a": (m, m, *row),
                  "branch3x3dbl_3b": (m, m, *column), "branch_pool": (a, 192 // w, 1)},
                 ["branch1x1", "branch3x3_1 branch3x3_2a", "branch3x3_1 branch3x3_2b",
                  "branch3x3dbl_1 branch3x3dbl_2 branch3x3dbl_3a", "branch3x3dbl_1 branch3x3dbl_2 branch3x3dbl_3b",
                  "pool branch_pool"], pool)


class Inception(nn.Module):
    def __init__(self, w, classes, fid):
        super().__init__()
        usual, last = (average_of_pixels, largest) if fid else (average, average)
        for name, part in {
                "Conv2d_1a_3x3": Conv(3, 32 // w, 3, 2), "Conv2d_2a_3x3": Conv(32 // w, 32 // w, 3),
                "Conv2d_2b_3x3": Conv(32 // w, 64 // w, 3, 1, 1), "Conv2d_3b_1x1": Conv(64 // w, 80 // w, 1),
                "Conv2d_4a_3x3": Conv(80 // w, 192 // w, 3), "Mixed_5b": block_a(192 // w, 32, w, usual),
                "Mixed_5c": block_a(256 // w, 64, w, usual), "Mixed_5d": block_a(288 // w, 64, w, usual),
                "Mixed_6a": block_b(288 // w, w), "Mixed_6b": block_c(768 // w, 128, w, usual),
                "Mixed_6c": block_c(768 // w, 160, w, usual), "Mixed_6d": block_c(768 // w, 160, w, usual),
                "Mixed_6e": block_c(768 // w, 192, w, usual), "Mixed_7a": block_d(768 // w, w),
                "Mixed_7b": block_e(1280 // w, w, usual), "Mixed_7c": block_e(2048 // w, w, last),
                "fc": nn.Linear(2048 // w, classes)}.items():
            setattr(self, name, part)

    def features(self, x):
        for name, part in self.named_children():
            if name == "fc":
                return x.mean((2, 3))
            x = part(x)
            if name in ("Conv2d_2b_3x3", "Conv2d_4a_3x3"):
                x = halved(x)

    def forward(self, x):
        return self.fc(self.features(x))


class Vgg16(nn.Module):
    def __init__(self, w):
        super().__init__()
        layers, a = [], 3
        for count, b in ((2, w), (2, 2 * w), (3, 4 * w), (3, 8 * w), (3, 8 * w)):
            for _ in range(count):
                layers += [nn.Conv2d(a, b, 3, 1, 1), nn.ReLU()]
                a = b
            layers.append(nn.MaxPool2d(2, 2))
        self.features = nn.Sequential(*layers)


def outputs(model, x, places, pool=None):
    found = []
    for i, part in enumerate(model.features):
        x = pool(x) if pool and isinstance(part, nn.MaxPool2d) else part(x)
        if i in places:
            found.append(x)
    return found


def column(values):
    return torch.tensor(values)[:, None, None]


def lpips(name, model, places, size):
    """torchmetrics' formula; the linear layers' weights are sines that are shifted above zero."""
    filled(model)
    names(name, model)
    a, b = wave("made", (2, 3, size, size)), wave("right", (2, 3, size, size))
    a.requires_grad_()
    scaled = [(x - column([-0.030, -0.088, -0.188])) / column([0.458, 0.448, 0.450]) for x in (a, b)]
    total, shapes = 0, {}
    for i, (p, q) in enumerate(zip(*(outputs(model, x, places) for x in scaled))):
        p, q = (x / (1e-8 + (x ** 2).sum(1, keepdim=True)).sqrt() for x in (p, q))
        key = f"lin{i}.model.1.weight"
        shapes[key] = [1, p.shape[1], 1, 1]
        total = total + (((p - q) ** 2) * (wave(key, (1, p.shape[1], 1, 1)) + 1.5)).sum(1).mean((1, 2))
    numbers(f"Lpips{name}", total)
    total.sum().backward()
    numbers(f"Lpips{name}Slopes", a.grad[:, :, 3, 5])
    STATES[f"Lpips{name}"] = json.dumps(shapes, separators=(",", ":"))


def dists(model, size):
    """Ding et al.'s: images from 0 to 1, pooling by a Hann window over squares."""
    a, b = (0.5 + 0.4 * wave(name, (2, 3, size, size)) for name in ("made", "right"))
    window = torch.hann_window(5, periodic=False)[1:-1]
    window = window[:, None] * window[None, :]
    window = window / window.sum()

    def pool(x):
        count = x.shape[1]
        return (F.conv2d(x ** 2, window.expand(count, 1, 3, 3), stride=2, padding=1, groups=count) + 1e-12).sqrt()

    def maps(x):
        scaled = (x - column([0.485, 0.456, 0.406])) / column([0.229, 0.224, 0.225])
        return [x] + outputs(model, scaled, (3, 8, 15, 22, 29), pool)

    a.requires_grad_()
    p, q = maps(a), maps(b)
    channels = [x.shape[1] for x in p]
    shape = (1, sum(channels), 1, 1)
    alpha, beta = wave("alpha", shape) + 1.5, wave("beta", shape) + 1.5
    whole, similar = alpha.sum() + beta.sum(), 0
    for x, y, s, t in zip(p, q, alpha.split(channels, 1), beta.split(channels, 1)):
        mx, my = x.mean((2, 3), keepdim=True), y.mean((2, 3), keepdim=True)
        similar = similar + (s / whole * (2 * mx * my + 1e-6) / (mx ** 2 + my ** 2 + 1e-6)).sum((1, 2, 3))
        vx, vy = ((x - mx) ** 2).mean((2, 3), keepdim=True), ((y - my) ** 2).mean((2, 3), keepdim=True)
        shared = (x * y).mean((2, 3), keepdim=True) - mx * my
        similar = similar + (t / whole * (2 * shared + 1e-6) / (vx + vy + 1e-6)).sum((1, 2, 3))
    numbers("DistsVgg16", 1 - similar)
    (1 - similar).sum().backward()
    numbers("DistsVgg16Slopes", a.grad[:, :, 3, 5])
    STATES["DistsVgg16"] = json.dumps({"alpha": shape, "beta": shape}, separators=(",", ":"))


def fid():
    model = filled(Inception(16, 5, True)).eval()
    names("InceptionFid", model)
    images = 0.5 + 0.4 * wave("images", (1, 3, 40, 32))
    with torch.no_grad():
        scaled = F.interpolate(images, (299, 299), mode="bilinear", align_corners=False)
        numbers("InceptionFid", model.features(2 * scaled - 1))


def lines(entries):
    """An object with a line for each entry."""
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {value}" for name, value in entries.items()) + "}"


classifier("AlexNet", AlexNet((4, 6, 8, 8, 6), 16, 3), 64)
classifier("SqueezeNet", SqueezeNet(2, 3), 32)
classifier("InceptionV3", Inception(16, 3, False), 107)
fid()
lpips("AlexNet", AlexNet((4, 6, 8, 8, 6), 16, 3), (1, 4, 7, 9, 11), 64)
lpips("SqueezeNet", SqueezeNet(2, 3), (1, 4, 7, 9, 10, 11, 12), 32)
vgg = Vgg16(2)
lpips("Vgg16", vgg, (3, 8, 15, 22, 29), 32)
dists(vgg, 32)
pathlib.Path(__file__).with_suffix(".json").write_text(
    f'{{"made_with": "PyTorch {torch.__version__.split("+")[0]}",\n"states": {lines(STATES)},\n'
    f'"numbers": {lines(NUMBERS)}}}\n')
