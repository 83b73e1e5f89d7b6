"""Writes the suite's networks as ONNX files, by PyTorch, with a free batch; and what they are fed."""

import pathlib
import warnings

import numpy
import onnx
import torch
import torchvision

import models

HEADS, SEQUENCE, PROMPT, PAST, LAYERS = 12, 128, 64, 64, 12


def ids(batch, length, vocabulary):
    return torch.randint(0, vocabulary, (batch, length))


def bert_inputs(batch):
    mask = torch.ones(batch, SEQUENCE, dtype=torch.long)
    mask[:, SEQUENCE - 16 :] = 0
    return ids(batch, SEQUENCE, 30522), mask, torch.zeros(batch, SEQUENCE, dtype=torch.long)


def token_inputs(batch):
    return ids(batch, 1, 50257), *(torch.randn(2, batch, HEADS, PAST, 64) for _ in range(LAYERS))


PASTS = [f"past_{i}" for i in range(LAYERS)]
PRESENTS = [f"present_{i}" for i in range(LAYERS)]
PICTURE = {"x": {0: "batch"}}

# name: the network, what it takes for a batch, the names of inputs and outputs, the free dimensions
NETWORKS = {
    "resnet50": (torchvision.models.resnet50, lambda n: (torch.randn(n, 3, 224, 224),), ["x"], ["y"], PICTURE),
    "mobilenet_v2": (torchvision.models.mobilenet_v2, lambda n: (torch.randn(n, 3, 224, 224),), ["x"], ["y"], PICTURE),
    "bert_base": (
        models.Bert,
        bert_inputs,
        ["ids", "mask", "kinds"],
        ["hidden", "pooled"],
        {name: {0: "batch", 1: "sequence"} for name in ("ids", "mask", "kinds")},
    ),
    "gpt2_prompt": (
        models.Gpt2,
        lambda n: (ids(n, PROMPT, 50257),),
        ["ids"],
        ["logits", *PRESENTS],
        {"ids": {0: "batch", 1: "sequence"}},
    ),
    "gpt2_token": (
        models.Gpt2,
        token_inputs,
        ["ids", *PASTS],
        ["logits", *PRESENTS],
        {"ids": {0: "batch", 1: "sequence"}, **{past: {1: "batch", 3: "past"} for past in PASTS}},
    ),
    "unet": (models.UNet, lambda n: (torch.randn(n, 3, 128, 128),), ["x"], ["y"], PICTURE),
    "lstm": (models.Lstm, lambda n: (torch.randn(n, 64, 128),), ["x"], ["y"], PICTURE),
}


def export(name, path):
    make, inputs, input_names, output_names, free = NETWORKS[name]
    torch.manual_seed(0)
    network = make().eval()
    part = path.with_suffix(".part")
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            network,
            inputs(2),
            str(part),
            input_names=input_names,
            output_names=output_names,
            dynamic_axes=free,
            opset_version=17,
            dynamo=False,
        )
    part.rename(path)


def export_mnist(source, path):
    """The file that there is, with a free batch."""
    model = onnx.load(source)
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = "batch"
    onnx.save(model, path)


def networks(mnist):
    return [*(["mnist"] if mnist.exists() else []), *NETWORKS]


def prepare(name, batches, place, mnist):
    """The file of a network, and for each batch a directory with an .npy file for each input; made once."""
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"{name}.onnx"
    if not path.exists():
        export_mnist(mnist, path) if name == "mnist" else export(name, path)
    for batch in batches:
        directory = place / f"{name}.{batch}"
        if (directory / "complete").exists():
            continue
        directory.mkdir(exist_ok=True)
        torch.manual_seed(batch)
        if name == "mnist":
            inputs, names = (torch.randn(batch, 1, 28, 28),), ["input.1"]
        else:
            inputs, names = NETWORKS[name][1](batch), NETWORKS[name][2]
        for i, (label, tensor) in enumerate(zip(names, inputs)):
            numpy.save(directory / f"{i:03} {label}.npy", tensor.numpy())
        (directory / "complete").touch()
    return path


if __name__ == "__main__":
    import sys

    root = pathlib.Path(sys.argv[1])
    for each in networks(pathlib.Path(sys.argv[2])):
        print(each, prepare(each, (1, 8), root, pathlib.Path(sys.argv[2])), flush=True)
