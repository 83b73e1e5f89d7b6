"""Trains a small network in PyTorch to tell three arms of a spiral apart, and saves it as training programs do: its state_dict
with other things beside it. Needs torch:  python3 train.py spirals.pt"""
import math
import sys

import torch
from torch import nn


def spirals(count):
    """Points and the arm of each: no random numbers, so that main.cpp can make the same."""
    points, arms = [], []
    for arm in range(3):
        for i in range(count):
            radius = (i + 1) / count
            angle = 4 * radius + arm * 2 * math.pi / 3 + 0.25 * math.sin(37 * i + arm)
            points.append([radius * math.cos(angle), radius * math.sin(angle)])
            arms.append(arm)
    return torch.tensor(points), torch.tensor(arms)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.LayerNorm(32), nn.Tanh())
        self.head = nn.Linear(32, 3)

    def forward(self, x):
        return self.head(self.body(x))


torch.manual_seed(1)
model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
x, y = spirals(100)
for step in range(400):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
with torch.no_grad():
    print(f"loss {loss.item():.4f}, right {100 * (model(x).argmax(1) == y).float().mean().item():.1f} %")
    print("scores of (0.3, -0.5):", model(torch.tensor([[0.3, -0.5]]))[0].tolist())
torch.save({"state_dict": model.state_dict(), "epoch": 400, "loss": loss.item()}, sys.argv[1])
