#!/usr/bin/env python3
"""Writes a network of torchvision with its trained weights, which torchvision downloads, and the names of its classes:
export.py [NAME], such as squeezenet1_1 (the default), resnet50 or mobilenet_v2 -> squeezenet.onnx, labels.txt."""

import re
import sys

import torch
import torchvision

name = sys.argv[1] if len(sys.argv) > 1 else "squeezenet1_1"
weights = torchvision.models.get_model_weights(name).DEFAULT
network = torchvision.models.get_model(name, weights=weights).eval()
file = re.sub("[0-9]_[0-9]$", "", name) + ".onnx"
free = {"picture": {0: "batch"}, "scores": {0: "batch"}}
torch.onnx.export(network, torch.zeros(1, 3, 224, 224), file, input_names=["picture"], output_names=["scores"],
                  dynamic_axes=free, dynamo=False)  # fmt: skip
with open("labels.txt", "w", encoding="utf-8") as labels:
    labels.writelines(f"{label}\n" for label in weights.meta["categories"])
print(f"{file} and labels.txt")
