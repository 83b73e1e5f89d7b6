#!/usr/bin/env python3
"""Files that torchvision's models save, loaded into Kiln's of the same name: the logits agree. exchange.py PROGRAM,
which is torchvision_logits."""
import pathlib
import subprocess
import sys
import tempfile

import torch
import torchvision
from safetensors.torch import load_file, save_file

PROGRAM = sys.argv[1]
MODELS = {"resnet18": 96, "resnet34": 64, "resnet50": 224, "mobilenet_v2": 160, "vit_b_16": 224,
          "vgg16": 64, "vgg19": 64}  # and the images' size


def random_model(name):
    """With weights as drawn, and all that torchvision begins as constants drawn as well."""
    model = getattr(torchvision.models, name)(weights=None)
    with torch.no_grad():
        for key, x in model.state_dict().items():
            if key.endswith("running_var"):
                x.uniform_(0.5, 2)
            elif key.endswith("running_mean"):
                x.normal_(std=0.2)
            elif x.dim() == 1 and x.is_floating_point():
                x.add_(torch.randn_like(x) * 0.1)
            elif key.startswith("heads."):
                x.normal_(std=0.02)
    return model.eval()


torch.manual_seed(1)
with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    for name, size in MODELS.items():
        model, images = random_model(name), torch.randn(2, 3, size, size)
        with torch.no_grad():
            expected = model(images)
        save_file({"images": images}, folder / "images.safetensors")
        torch.save(model.state_dict(), folder / "weights.pt")
        save_file(model.state_dict(), folder / "weights.safetensors")
        for weights in ("weights.pt", "weights.safetensors"):
            output = folder / "logits.safetensors"
            subprocess.run([PROGRAM, name, folder / weights, folder / "images.safetensors", output], check=True)
            logits = load_file(output)["logits"]
            worst, largest = (logits - expected).abs().max().item(), expected.abs().max().item()
            print(f"{name}, {weights}: off by {worst:.1e} of {largest:.2f}")
            assert logits.shape == expected.shape and worst <= 1e-4 * max(1, largest), name
