"""YOLOX in PyTorch, with the names of its published weights, and its loss: what models/detection/ is in Kiln."""
import torch
from torch import nn
from torch.nn import functional as F

SIZES = {"nano": (1 / 3, 0.25, True), "tiny": (1 / 3, 0.375, False), "s": (1 / 3, 0.5, False)}
STRIDES = (8, 16, 32)


class Conv(nn.Module):
    def __init__(self, a, b, kernel=1, stride=1, groups=1):
        super().__init__()
        self.conv = nn.Conv2d(a, b, kernel, stride, kernel // 2, groups=groups, bias=False)
        self.bn = nn.BatchNorm2d(b, eps=1e-3, momentum=0.03)

    def forward(self, x):
        return F.silu(self.bn(self.conv(x)))


class Separable(nn.Module):
    def __init__(self, a, b, kernel, stride=1):
        super().__init__()
        self.dconv, self.pconv = Conv(a, a, kernel, stride, a), Conv(a, b)

    def forward(self, x):
        return self.pconv(self.dconv(x))


class Block(nn.Module):
    def __init__(self, width, residual, spatial):
        super().__init__()
        self.conv1, self.conv2, self.residual = Conv(width, width), spatial(width, width, 3), residual

    def forward(self, x):
        y = self.conv2(self.conv1(x))
        return x + y if self.residual else y


class Csp(nn.Module):
    def __init__(self, a, b, blocks, spatial, residual=False):
        super().__init__()
        self.conv1, self.conv2, self.conv3 = Conv(a, b // 2), Conv(a, b // 2), Conv(b, b)
        self.m = nn.Sequential(*[Block(b // 2, residual, spatial) for _ in range(blocks)])

    def forward(self, x):
        return self.conv3(torch.cat([self.m(self.conv1(x)), self.conv2(x)], 1))


class Pyramid(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1, self.conv2 = Conv(width, width // 2), Conv(2 * width, width)

    def forward(self, x):
        x = self.conv1(x)
        return self.conv2(torch.cat([x] + [F.max_pool2d(x, k, 1, k // 2) for k in (5, 9, 13)], 1))


class Stem(nn.Module):
    def __init__(self, channels, width):
        super().__init__()
        self.conv = Conv(4 * channels, width, 3)

    def forward(self, x):
        return self.conv(torch.cat([x[..., row::2, column::2] for column in (0, 1) for row in (0, 1)], 1))


class Darknet(nn.Module):
    def __init__(self, w, blocks, spatial):
        super().__init__()
        self.stem = Stem(3, w)
        self.dark2 = nn.Sequential(spatial(w, 2 * w, 3, 2), Csp(2 * w, 2 * w, blocks, spatial, True))
        self.dark3 = nn.Sequential(spatial(2 * w, 4 * w, 3, 2), Csp(4 * w, 4 * w, 3 * blocks, spatial, True))
        self.dark4 = nn.Sequential(spatial(4 * w, 8 * w, 3, 2), Csp(8 * w, 8 * w, 3 * blocks, spatial, True))
        self.dark5 = nn.Sequential(spatial(8 * w, 16 * w, 3, 2), Pyramid(16 * w), Csp(16 * w, 16 * w, blocks, spatial))

    def forward(self, x):
        third = self.dark3(self.dark2(self.stem(x)))
        fourth = self.dark4(third)
        return third, fourth, self.dark5(fourth)


class Neck(nn.Module):
    def __init__(self, w, blocks, spatial):
        super().__init__()
        self.backbone = Darknet(w, blocks, spatial)
        self.lateral_conv0, self.C3_p4 = Conv(16 * w, 8 * w), Csp(16 * w, 8 * w, blocks, spatial)
        self.reduce_conv1, self.C3_p3 = Conv(8 * w, 4 * w), Csp(8 * w, 4 * w, blocks, spatial)
        self.bu_conv2, self.C3_n3 = spatial(4 * w, 4 * w, 3, 2), Csp(8 * w, 8 * w, blocks, spatial)
        self.bu_conv1, self.C3_n4 = spatial(8 * w, 8 * w, 3, 2), Csp(16 * w, 16 * w, blocks, spatial)

    def forward(self, x):
        third, fourth, fifth = self.backbone(x)
        small = self.lateral_conv0(fifth)
        middle = self.reduce_conv1(self.C3_p4(torch.cat([F.interpolate(small, scale_factor=2), fourth], 1)))
        large = self.C3_p3(torch.cat([F.interpolate(middle, scale_factor=2), third], 1))
        middle = self.C3_n3(torch.cat([self.bu_conv2(large), middle], 1))
        return large, middle, self.C3_n4(torch.cat([self.bu_conv1(middle), small], 1))


class Head(nn.Module):
    def __init__(self, w, classes, spatial):
        super().__init__()
        width = 4 * w

        def branches():
            return nn.ModuleList([nn.Sequential(spatial(width, width, 3), spatial(width, width, 3)) for _ in STRIDES])

        def predictions(count):
            return nn.ModuleList([nn.Conv2d(width, count, 1) for _ in STRIDES])

        self.stems = nn.ModuleList([Conv(4 * w * 2**i, width) for i in range(3)])
        self.cls_convs, self.reg_convs = branches(), branches()
        self.cls_preds, self.reg_preds, self.obj_preds = predictions(classes), predictions(4), predictions(1)
        for conv in [*self.cls_preds, *self.obj_preds]:
            nn.init.constant_(conv.bias, -4.59512)  # a probability of 1 %

    def forward(self, levels):
        parts = []
        for i, x in enumerate(levels):
            x = self.stems[i](x)
            about_box = self.reg_convs[i](x)
            said = [self.reg_preds[i](about_box), self.obj_preds[i](about_box), self.cls_preds[i](self.cls_convs[i](x))]
            parts.append(torch.cat(said, 1).flatten(2))
        return torch.cat(parts, 2).transpose(1, 2)


class Yolox(nn.Module):
    """images [batch, 3, height, width] -> [batch, cells, 5 + classes]"""

    def __init__(self, depth, width, depthwise, classes=80):
        super().__init__()
        w, blocks, spatial = int(64 * width), max(1, round(3 * depth)), Separable if depthwise else Conv
        self.backbone, self.head = Neck(w, blocks, spatial), Head(w, classes, spatial)

    def forward(self, images):
        return self.head(self.backbone(images))


def cells_of(height, width, like):
    """Columns, rows and strides of all cells: [cells, 3]."""
    parts = [torch.cartesian_prod(torch.arange(height // s), torch.arange(width // s), torch.tensor([s]))
             for s in STRIDES]
    return torch.cat(parts)[:, [1, 0, 2]].to(like)


def corners(raw, cells):
    middle = (raw[..., :2] + cells[:, :2]) * cells[:, 2:]
    half = raw[..., 2:4].exp() * cells[:, 2:] / 2
    return torch.cat([middle - half, middle + half], -1)


def overlaps(a, b):
    """The intersection by union of boxes [..., 4] that broadcast."""
    sides = (torch.minimum(a[..., 2:], b[..., 2:]) - torch.maximum(a[..., :2], b[..., :2])).clamp(min=0)
    both = sides.prod(-1)
    return both / ((a[..., 2:] - a[..., :2]).prod(-1) + (b[..., 2:] - b[..., :2]).prod(-1) - both)


@torch.no_grad()
def assigned(raw, cells, boxes, labels):
    """SimOTA for one picture: cells, the box of each, and their overlaps."""
    middles, reach = (cells[:, :2] + 0.5) * cells[:, 2:], 1.5 * cells[:, 2]
    near = ((middles - (boxes[:, None, :2] + boxes[:, None, 2:]) / 2).abs() < reach[:, None]).all(2)  # [boxes, cells]
    places = near.any(0).nonzero().squeeze(1)
    if not len(places):
        return places, places, raw.new_zeros(0)
    near, raw = near[:, places], raw[places]
    shared = overlaps(boxes[:, None], corners(raw, cells[places]))
    sure = (raw[:, 5:].sigmoid() * raw[:, 4:5].sigmoid()).sqrt()
    wanted = F.one_hot(labels, raw.shape[1] - 5).to(raw)[:, None].expand(-1, len(places), -1)
    cost = F.binary_cross_entropy(sure.expand(len(boxes), -1, -1), wanted, reduction="none").sum(2)
    cost = cost - 3 * (shared + 1e-8).log() + 1e6 * ~near
    counts = shared.topk(min(10, len(places)), 1).values.sum(1).int().clamp(min=1)
    chosen = torch.zeros_like(near)
    for box, count in enumerate(counts.tolist()):
        chosen[box, cost[box].topk(count, largest=False).indices] = True
    several = chosen.sum(0) > 1
    chosen[:, several] = F.one_hot(cost[:, several].argmin(0), len(boxes)).T.bool()
    box, cell = chosen.nonzero(as_tuple=True)
    return places[cell], box, shared[box, cell]


def losses(raw, height, width, truth, distance_weight=0):
    """truth: (boxes [n, 4] of corners, labels [n]) of each picture -> the loss, and its parts."""
    cells = cells_of(height, width, raw)
    there, of_class = raw.new_zeros(raw.shape[:2]), raw.new_zeros(())
    of_boxes, apart, count = raw.new_zeros(()), raw.new_zeros(()), 0
    for i, (boxes, labels) in enumerate(truth):
        if not len(boxes):
            continue
        cell, box, shared = assigned(raw[i].detach(), cells, boxes, labels)
        there[i, cell] = 1
        rows, at, goal = raw[i, cell], cells[cell], boxes[box]
        of_boxes = of_boxes + (1 - overlaps(corners(rows, at), goal) ** 2).sum()
        wanted = F.one_hot(labels[box], raw.shape[2] - 5) * shared[:, None]
        of_class = of_class + F.binary_cross_entropy_with_logits(rows[:, 5:], wanted, reduction="sum")
        middle, side = (goal[:, :2] + goal[:, 2:]) / 2 / at[:, 2:], (goal[:, 2:] - goal[:, :2]) / at[:, 2:]
        apart = apart + (rows[:, :4] - torch.cat([middle - at[:, :2], side.log()], 1)).abs().sum()
        count += len(cell)
    objects = F.binary_cross_entropy_with_logits(raw[..., 4], there, reduction="sum")
    parts = [x / max(count, 1) for x in (of_boxes, objects, of_class, apart)]
    return 5 * parts[0] + parts[1] + parts[2] + distance_weight * parts[3], parts, count
