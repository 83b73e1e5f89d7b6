#!/usr/bin/env python3
"""Writes torch_figures.json: what PyTorch and torchvision find, in float64, for small models whose weights are sines.

usage: torch_figures.py"""
import json
import math
import pathlib

import torch
import torchvision
from torch import nn
from torch.nn import functional as F

from waves import filled, wave

torch.set_default_dtype(torch.float64)
RATE = 0.01
STATES, NUMBERS = {}, {}


def step(model, loss):
    """One of gradient descent."""
    for p in model.parameters():
        p.grad = None
    loss.backward()
    with torch.no_grad():
        for p in model.parameters():
            if p.grad is not None:
                p -= RATE * p.grad


def numbers(name, x):
    NUMBERS[name] = "[" + ",".join(f"{v:.12g}" for v in x.detach().flatten().tolist()) + "]"


def names(name, model):
    STATES[name] = json.dumps({key: list(x.shape) for key, x in model.state_dict().items()}, separators=(",", ":"))


def classifier(name, model, size):
    """Logits, the loss of a training step, and logits after it; and the state dict's names."""
    filled(model)
    images, targets = wave("images", (4, 3, size, size)), torch.arange(4) % 3
    names(name, model)
    with torch.no_grad():
        numbers(f"{name}Logits", model.eval()(images))
    loss = F.cross_entropy(model.train()(images), targets)
    numbers(f"{name}Loss", loss)
    step(model, loss)
    with torch.no_grad():
        numbers(f"{name}LogitsAfterStep", model.eval()(images))


# ---- the other models, with the names that their parameters have in Kiln ---------------------------------------------
class NormedConv(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b)

    def forward(self, x):
        return self.norm(self.conv(x))


class UNetBlock(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.conv1, self.conv2 = NormedConv(a, b), NormedConv(b, b)

    def forward(self, x):
        return self.conv2(self.conv1(x).relu()).relu()


class UNet(nn.Module):
    def __init__(self, channels, classes, w):
        super().__init__()
        self.down = nn.ModuleList([UNetBlock(channels, w), UNetBlock(w, 2 * w), UNetBlock(2 * w, 4 * w)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(2 * w, w, 2, 2), nn.ConvTranspose2d(4 * w, 2 * w, 2, 2)])
        self.merge = nn.ModuleList([UNetBlock(2 * w, w), UNetBlock(4 * w, 2 * w)])
        self.head = nn.Conv2d(w, classes, 1)

    def forward(self, x):
        a = self.down[0](x)
        b = self.down[1](F.max_pool2d(a, 2))
        c = self.down[2](F.max_pool2d(b, 2))
        b = self.merge[1](torch.cat([b, self.up[1](c)], 1))
        return self.head(self.merge[0](torch.cat([a, self.up[0](b)], 1)))


class Generator(nn.Module):
    def __init__(self, side, latent, w):
        super().__init__()
        self.seed, self.norm1 = nn.Linear(latent, 2 * w * (side // 4) ** 2), nn.BatchNorm2d(2 * w)
        self.grow1, self.norm2 = nn.ConvTranspose2d(2 * w, w, 4, 2, 1), nn.BatchNorm2d(w)
        self.grow2, self.shape = nn.ConvTranspose2d(w, 1, 4, 2, 1), (-1, 2 * w, side // 4, side // 4)

    def forward(self, z):
        half = self.grow1(self.norm1(self.seed(z).reshape(self.shape)).relu())
        return self.grow2(self.norm2(half).relu()).sigmoid()


class Critic(nn.Module):
    def __init__(self, side, w):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, w, 4, 2, 1), nn.Conv2d(w, 2 * w, 4, 2, 1)
        self.head = nn.Linear(2 * w * (side // 4) ** 2, 1)

    def forward(self, x):
        x = F.leaky_relu(self.conv2(F.leaky_relu(self.conv1(x), 0.2)), 0.2)
        return self.head(x.flatten(1)).squeeze(1)

    def penalty(self, real, fake, share):
        t = share.reshape(-1, 1, 1, 1)
        between = (t * real + (1 - t) * fake).detach().requires_grad_()
        slope, = torch.autograd.grad(self(between).sum(), between, create_graph=True)
        return ((slope.flatten(1).norm(dim=1) - 1) ** 2).mean()


class DenoiserBlock(nn.Module):
    def __init__(self, a, b, context):
        super().__init__()
        self.norm1, self.conv1, self.context = nn.GroupNorm(8, a), nn.Conv2d(a, b, 3, 1, 1), nn.Linear(context, b)
        self.norm2, self.conv2 = nn.GroupNorm(8, b), nn.Conv2d(b, b, 3, 1, 1)
        if a != b:
            self.shortcut = nn.Conv2d(a, b, 1)

    def forward(self, x, about):
        y = self.conv1(F.silu(self.norm1(x))) + self.context(F.silu(about))[:, :, None, None]
        return self.conv2(F.silu(self.norm2(y))) + (self.shortcut(x) if hasattr(self, "shortcut") else x)


class Denoiser(nn.Module):
    def __init__(self, classes, a, b, steps):
        super().__init__()
        c = 4 * a
        self.step1, self.step2, self.classes = nn.Linear(a, c), nn.Linear(c, c), nn.Embedding(classes + 1, c)
        self.stem = nn.Conv2d(1, a, 3, 1, 1)
        self.down = nn.ModuleList([DenoiserBlock(a, a, c), DenoiserBlock(a, b, c)])
        self.shrink = nn.ModuleList([nn.Conv2d(a, a, 3, 2, 1)])
        self.middle = DenoiserBlock(b, b, c)
        self.up = nn.ModuleList([DenoiserBlock(2 * a, a, c), DenoiserBlock(2 * b, b, c)])
        self.grow = nn.ModuleList([nn.ConvTranspose2d(b, a, 4, 2, 1)])
        self.norm, self.head = nn.GroupNorm(8, a), nn.Conv2d(a, 1, 3, 1, 1)
        left = [math.cos((i / steps + 0.008) / 1.008 * math.pi / 2) ** 2 for i in range(steps + 1)]
        self.kept = torch.tensor([max(x / left[0], 1e-5) for x in left[1:]])
        angles = torch.arange(steps)[:, None] * 10000.0 ** (-torch.arange(0, a, 2) / a)
        self.waves = torch.stack([angles.sin(), angles.cos()], 2).flatten(1)

    def forward(self, x, steps, labels):
        about = self.step2(F.silu(self.step1(self.waves[steps]))) + self.classes(labels)
        first = self.down[0](self.stem(x), about)
        second = self.down[1](self.shrink[0](first), about)
        y = self.grow[0](self.up[1](torch.cat([self.middle(second, about), second], 1), about))
        return self.head(F.silu(self.norm(self.up[0](torch.cat([y, first], 1), about))))

    def loss(self, images, steps, labels, noise):
        left = self.kept[steps].reshape(-1, 1, 1, 1)
        return F.mse_loss(self(left.sqrt() * images + (1 - left).sqrt() * noise, steps, labels), noise)


def unet():
    model, images = filled(UNet(2, 3, 4)), wave("images", (2, 2, 8, 12))
    targets = (torch.arange(2 * 8 * 12) % 3).reshape(2, 8, 12)
    loss = F.cross_entropy(model(images), targets)
    step(model, loss)
    numbers("UNetLosses", torch.stack([loss, F.cross_entropy(model(images), targets)]))


def wgan():
    generator, critic = filled(Generator(8, 3, 2)), filled(Critic(8, 2))
    noise, real, share = wave("noise", (4, 3)), 0.5 + 0.5 * wave("real", (4, 1, 8, 8)), 0.5 + 0.5 * wave("share", (4,))
    fake = generator(noise).detach()
    found = []
    for _ in range(2):
        gap, penalty = critic(real).mean() - critic(fake).mean(), critic.penalty(real, fake, share)
        found += [gap, penalty]
        step(critic, 10 * penalty - gap)
    numbers("Critic", torch.stack(found))
    losses = []
    for _ in range(2):
        losses.append(-critic(generator(noise)).mean())
        step(generator, losses[-1])
    numbers("Generator", torch.stack(losses))


def denoiser():
    model = filled(Denoiser(3, 8, 16, 20))
    images, noise = wave("images", (3, 1, 4, 6)), wave("noise", (3, 1, 4, 6))
    steps, labels = torch.tensor([0, 7, 19]), torch.tensor([2, 0, 3])
    losses = []
    for _ in range(2):
        losses.append(model.loss(images, steps, labels, noise))
        step(model, losses[-1])
    numbers("Denoiser", torch.stack(losses))


def small_vgg():
    """torchvision's with stages of 4 and 8 features, one and two convolutions, and a head of 16."""
    net = torchvision.models.VGG(torchvision.models.vgg.make_layers([4, "M", 8, 8, "M"]), num_classes=3, init_weights=False)
    net.classifier = nn.Sequential(nn.Linear(8 * 49, 16), nn.ReLU(), nn.Dropout(0), nn.Linear(16, 16), nn.ReLU(),
                                   nn.Dropout(0), nn.Linear(16, 3))
    return net


def perceptual():
    """0.5 relu2_1 of content, 2 relu1_1 and 1 relu2_2 of style."""
    features = filled(small_vgg()).features
    mean, deviation = torch.tensor([0.4, 0.5, 0.6])[:, None, None], torch.tensor([0.2, 0.25, 0.3])[:, None, None]

    def layers(images):
        x, found = (images - mean) / deviation, []
        for part in features:
            x = part(x)
            if isinstance(part, nn.ReLU):
                found.append(x)
        return found

    def gram(x):
        rows = x.flatten(2)
        return rows @ rows.transpose(1, 2) / (rows.shape[1] * rows.shape[2])

    def squared(a, b):
        return ((a - b) ** 2).flatten(1).mean(1)

    x, content = (0.5 + 0.4 * wave(name, (2, 3, 8, 12)) for name in ("x", "content"))
    style = 0.5 + 0.4 * wave("style", (2, 3, 16, 8))
    x.requires_grad_()
    own, shown, painted = layers(x), layers(content), layers(style)
    each = (0.5 * squared(own[1], shown[1]) + 2 * squared(gram(own[0]), gram(painted[0]))
            + squared(gram(own[2]), gram(painted[2])))
    numbers("PerceptualLosses", each)
    each.mean().backward()
    numbers("PerceptualSlopes", x.grad[:, :, 3, 5])


class Layers(nn.Module):
    """Those that Kiln names or lays out in another way."""

    def __init__(self):
        super().__init__()
        options = dict(dropout=0, batch_first=True)
        self.lstm = nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2, batch_first=True)
        self.attention = nn.MultiheadAttention(4, 2, kdim=3, vdim=3, batch_first=True)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, norm_first=True, **options), 2,
                                             nn.LayerNorm(4), enable_nested_tensor=False)
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8, **options), 1)
        self.norm, self.cell = nn.BatchNorm1d(4), nn.GRUCell(4, 3)

    def forward(self, x):
        y = self.lstm(x)[0]
        y = self.encoder(self.attention(y, x, x)[0])
        y = self.decoder(y, x.repeat_interleave(2, 2)[:, :, :4])
        return self.cell(self.norm(y.transpose(1, 2))[:, :, 2])


def layers():
    model = filled(Layers()).eval()
    names("Layers", model)
    with torch.no_grad():
        numbers("Layers", model(wave("x", (2, 5, 3))))


def lines(entries):
    """An object with a line for each entry."""
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {value}" for name, value in entries.items()) + "}"


models = torchvision.models
classifier("ResNetBasic", models.ResNet(models.resnet.BasicBlock, [1, 1, 1, 1], num_classes=3), 64)
classifier("ResNetBottleneck", models.ResNet(models.resnet.Bottleneck, [1, 1, 1, 1], num_classes=3), 64)
stages = [[1, 16, 1, 1], [6, 24, 2, 2], [6, 32, 1, 1]]
classifier("MobileNetV2", models.MobileNetV2(
    num_classes=3, width_mult=0.25, dropout=0, inverted_residual_setting=stages), 32)
classifier("VisionTransformer", models.VisionTransformer(
    image_size=32, patch_size=8, num_layers=2, num_heads=4, hidden_dim=32, mlp_dim=64, num_classes=3), 32)
classifier("Vgg", small_vgg(), 32)
perceptual()
unet()
wgan()
denoiser()
layers()
made_with = f"PyTorch {torch.__version__.split('+')[0]} and torchvision {torchvision.__version__.split('+')[0]}"
pathlib.Path(__file__).with_suffix(".json").write_text(
    f'{{"made_with": "{made_with}",\n"states": {lines(STATES)},\n"numbers": {lines(NUMBERS)}}}\n')
