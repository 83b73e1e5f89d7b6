"""The networks that the ONNX suite exports, as users write them in PyTorch; numbers are random, shapes are the originals'."""

import math

import torch
from torch import nn
from torch.nn import functional as F


class BertLayer(nn.Module):
    """Post-norm, with attention spelled out: BERT as its users export it."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.output, self.norm1 = nn.Linear(width, width), nn.LayerNorm(width, eps=1e-12)
        self.up, self.down, self.norm2 = (
            nn.Linear(width, 4 * width),
            nn.Linear(4 * width, width),
            nn.LayerNorm(width, eps=1e-12),
        )

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, -1).permute(0, 2, 1, 3)

    def forward(self, x, mask):
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]) + mask
        mixed = (scores.softmax(-1) @ v).permute(0, 2, 1, 3).contiguous()
        x = self.norm1(x + self.output(mixed.view(x.shape)))
        return self.norm2(x + self.down(F.gelu(self.up(x))))


class Bert(nn.Module):
    """BERT-base."""

    def __init__(self, vocabulary=30522, width=768, heads=12, layers=12, places=512):
        super().__init__()
        self.words, self.places = nn.Embedding(vocabulary, width), nn.Embedding(places, width)
        self.kinds, self.norm = nn.Embedding(2, width), nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList([BertLayer(width, heads) for _ in range(layers)])
        self.pooler = nn.Linear(width, width)

    def forward(self, ids, attention_mask, kinds):
        x = self.words(ids) + self.kinds(kinds) + self.places(torch.arange(ids.shape[1], device=ids.device))
        x = self.norm(x)
        mask = (1.0 - attention_mask[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        for layer in self.layers:
            x = layer(x, mask)
        return x, torch.tanh(self.pooler(x[:, 0]))


class Gpt2Block(nn.Module):
    def __init__(self, width, heads, context):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.register_buffer("causal", torch.tril(torch.ones(context, context, dtype=torch.bool))[None, None], False)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, -1).permute(0, 2, 1, 3)

    def forward(self, x, past):
        q, k, v = (self.split(part) for part in self.qkv(self.norm1(x)).split(x.shape[-1], dim=2))
        if past is not None:
            k, v = torch.cat((past[0], k), 2), torch.cat((past[1], v), 2)
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        visible = self.causal[:, :, k.shape[2] - q.shape[2] : k.shape[2], : k.shape[2]]
        scores = torch.where(visible, scores, torch.tensor(torch.finfo(scores.dtype).min))
        mixed = (scores.softmax(-1) @ v).permute(0, 2, 1, 3).contiguous()
        x = x + self.output(mixed.view(x.shape))
        y = self.up(self.norm2(x))
        y = 0.5 * y * (1 + torch.tanh(math.sqrt(2 / math.pi) * (y + 0.044715 * torch.pow(y, 3))))
        return x + self.down(y), torch.stack((k, v))


class Gpt2(nn.Module):
    """GPT-2 124M. With pasts [2, batch, heads, places, width per head], a layer each, ids follow on those."""

    def __init__(self, vocabulary=50257, context=1024, width=768, heads=12, layers=12):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList([Gpt2Block(width, heads, context) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight
        nn.init.normal_(self.tokens.weight, std=0.02)

    def forward(self, ids, *pasts):
        before = pasts[0].shape[3] if pasts else 0
        x = self.tokens(ids) + self.positions(torch.arange(before, before + ids.shape[1]))
        presents = []
        for i, block in enumerate(self.blocks):
            x, present = block(x, pasts[i] if pasts else None)
            presents.append(present)
        return self.head(self.norm(x)), *presents


def twice(inputs, outputs):
    def one(a, b):
        return [nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU()]

    return nn.Sequential(*one(inputs, outputs), *one(outputs, outputs))


class UNet(nn.Module):
    """Ronneberger et al. 2015, with padding and batch norms, 32 channels at the top."""

    def __init__(self, inputs=3, classes=2, width=32, depth=4):
        super().__init__()
        sizes = [width << i for i in range(depth + 1)]
        self.down = nn.ModuleList([twice(a, b) for a, b in zip([inputs, *sizes], sizes)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(2 * s, s, 2, 2) for s in sizes[-2::-1]])
        self.join = nn.ModuleList([twice(2 * s, s) for s in sizes[-2::-1]])
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        levels = []
        for i, block in enumerate(self.down):
            x = block(x if i == 0 else F.max_pool2d(x, 2))
            levels.append(x)
        for up, join, level in zip(self.up, self.join, levels[-2::-1]):
            x = join(torch.cat((up(x), level), 1))
        return self.head(x)


class Lstm(nn.Module):
    """Two layers over sequences, and a class for each."""

    def __init__(self, inputs=128, hidden=256, classes=10):
        super().__init__()
        self.lstm, self.head = nn.LSTM(inputs, hidden, 2, batch_first=True), nn.Linear(hidden, classes)

    def forward(self, sequences):
        return self.head(self.lstm(sequences)[0][:, -1])
