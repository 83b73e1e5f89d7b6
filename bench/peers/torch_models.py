"""The suite's models in PyTorch: what bench/models/ and examples/guide/ are in Kiln."""
import torch
from torch import nn
from torch.nn import functional as F


class Guide(nn.Module):
    """The guide's convolutional network for digits."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 8, 3), nn.Conv2d(8, 16, 3)
        self.pool, self.dropout = nn.AdaptiveAvgPool2d(8), nn.Dropout(0.5)
        self.linear1, self.linear2 = nn.Linear(16 * 8 * 8, 512), nn.Linear(512, 10)

    def forward(self, images):
        x = self.dropout(self.conv1(images))
        x = self.pool(F.relu(self.dropout(self.conv2(x)))).flatten(1)
        return self.linear2(F.relu(self.dropout(self.linear1(x))))


class GptBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, time, width = x.shape
        parts = self.qkv(self.norm1(x)).view(batch, time, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.output(mixed.transpose(1, 2).reshape(batch, time, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self, vocabulary=8192, context=128, width=256, heads=8, layers=4):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*[GptBlock(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, batch):
        x = self.tokens(batch) + self.positions(torch.arange(batch.shape[1], device=batch.device))
        return self.head(self.norm(self.blocks(x)))


def normed_conv(in_channels, out_channels, kernel, stride=1):
    return nn.Sequential(nn.Conv2d(in_channels, out_channels, kernel, stride, kernel // 2, bias=False),
                         nn.BatchNorm2d(out_channels))


class Bottleneck(nn.Module):
    def __init__(self, in_channels, width, stride):
        super().__init__()
        out = 4 * width
        self.reduce, self.spatial = normed_conv(in_channels, width, 1), normed_conv(width, width, 3, stride)
        self.restore = normed_conv(width, out, 1)
        changes = stride > 1 or in_channels != out
        self.shortcut = normed_conv(in_channels, out, 1, stride) if changes else nn.Identity()

    def forward(self, x):
        y = F.relu(self.spatial(F.relu(self.reduce(x))))
        return F.relu(self.restore(y) + self.shortcut(x))


def resnet50(classes=1000):
    layers, channels = [normed_conv(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(blocks):
            layers.append(Bottleneck(channels, width, stride if i == 0 else 1))
            channels = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))


class SequenceClassifier(nn.Module):
    def __init__(self, inputs=128, hidden=256, classes=10):
        super().__init__()
        self.lstm, self.head = nn.LSTM(inputs, hidden, batch_first=True), nn.Linear(hidden, classes)

    def forward(self, sequences):
        return self.head(self.lstm(sequences)[0][:, -1])


class Gpt2Block(nn.Module):
    """A block of GPT-2 that looks back on a static cache: keys and values of all places, of which a mask shows those that
    are taken."""

    def __init__(self, width, heads, capacity):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, heads, capacity, width // heads))

    def forward(self, x, places, mask):
        batch, time, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, time, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        self.keys.index_copy_(2, places, k)
        self.values.index_copy_(2, places, v)
        mixed = F.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=mask)
        x = x + self.output(mixed.transpose(1, 2).reshape(batch, time, width))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    """GPT-2 124M with a static cache."""

    def __init__(self, capacity, vocabulary=50257, context=1024, width=768, heads=12, layers=12):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList([Gpt2Block(width, heads, capacity) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight
        nn.init.normal_(self.tokens.weight, std=0.02)
        self.register_buffer("every", torch.arange(capacity))

    def forward(self, ids, places):
        """The likeliest next token [batch, 1]."""
        mask = self.every <= places[:, None]
        x = self.tokens(ids) + self.positions(places)
        for block in self.blocks:
            x = block(x, places, mask)
        return self.head(self.norm(x[:, -1])).argmax(-1, keepdim=True)
