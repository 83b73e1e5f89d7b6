"""The project of `kiln new --template transfer`: on what it draws, and from a folder of pictures and a file of torchvision's names.

transfer_template.py PROGRAM: prints what is wrong, and fails then. The weights are random, and the two classes are colours, which
even random features tell apart."""
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import zlib

PROGRAM = sys.argv[1]


def run(folder, *options):
    return subprocess.run([PROGRAM, *options], cwd=folder, capture_output=True, text=True, timeout=240)


def resnet18():
    """Names and shapes of torchvision's resnet18."""
    def norm(name, width):
        return {f"{name}.{part}": [width] for part in ("weight", "bias", "running_mean", "running_var")}

    tensors = {"conv1.weight": [64, 3, 7, 7], **norm("bn1", 64)}
    before = 64
    for layer, width in enumerate((64, 128, 256, 512), 1):
        for block in (0, 1):
            name = f"layer{layer}.{block}"
            tensors |= {f"{name}.conv1.weight": [width, before, 3, 3], **norm(f"{name}.bn1", width),
                        f"{name}.conv2.weight": [width, width, 3, 3], **norm(f"{name}.bn2", width)}
            if before != width:
                tensors |= {f"{name}.downsample.0.weight": [width, before, 1, 1], **norm(f"{name}.downsample.1", width)}
            before = width
    return {**tensors, "fc.weight": [1000, 512], "fc.bias": [1000]}


def write_weights(path):
    """A safetensors file: random weights whose sums keep the size of what they add up; norms that change nothing."""
    draw = random.Random(1)
    noise = [draw.gauss(0, 1) for _ in range(4099)]
    header, data = {}, bytearray()
    for name, shape in resnet18().items():
        count = 1
        for size in shape:
            count *= size
        if len(shape) > 1:
            scale = (2 / (count / shape[0])) ** 0.5
            pattern = struct.pack("<4099f", *(scale * x for x in noise))
            content = (pattern * (count // 4099 + 1))[:4 * count]
        else:
            content = struct.pack("<f", 1.0 if name.endswith(("weight", "running_var")) else 0.0) * count
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    words = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(words)) + words + data)


def write_png(path, colour, side=40):
    """Noise around a colour."""
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    draw = random.Random(str(path.name) + str(colour))
    rows = b"".join(b"\0" + bytes(min(255, part + draw.randrange(60)) for _ in range(side) for part in colour) for _ in range(side))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", side, side, 8, 2, 0, 0, 0))
                     + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    drawn = run(folder, "--plain", "--epochs", "1", "--digits", "60", "--out", "digits.safetensors")
    assert drawn.returncode == 0 and (folder / "digits.safetensors").stat().st_size > 0, drawn
    assert json.loads((folder / "digits.safetensors.json").read_text())["classes"] == 5

    for kind, colour in {"blue": (20, 40, 190), "red": (190, 40, 20)}.items():
        (folder / "photos" / kind).mkdir(parents=True)
        for i in range(12):
            write_png(folder / "photos" / kind / f"{i}.png", colour)
    (folder / "photos" / "red" / "12.webp").write_bytes(b"RIFF")
    for options in (["--data", "photos"], ["--weights", "weights.safetensors"]):
        half = run(folder, *options)
        assert half.returncode == 1 and "belong together" in half.stderr + half.stdout, half
    write_weights(folder / "weights.safetensors")
    learned = run(folder, "--plain", "--data", "photos", "--weights", "weights.safetensors", "--side", "32", "--epochs", "4",
                  "--batch", "8", "--rate", "0.003")
    assert learned.returncode == 0, learned
    assert '1 file is no PNG or JPEG by the name, and left out: photos/red/12.webp\n' in learned.stdout.replace("'", ""), learned
    for kind, colour in {"blue": (30, 50, 180), "red": (180, 50, 30)}.items():
        write_png(folder / f"new-{kind}.png", colour)
        read = run(folder, "--read", f"new-{kind}.png")
        assert read.returncode == 0 and f"new-{kind}.png: {kind} (" in read.stdout, read
    wrong = run(folder, "--data", "photos", "--weights", "weights.safetensors", "--depth", "34", "--plain")
    assert wrong.returncode == 1 and "layer3.5" in (wrong.stderr + wrong.stdout).replace("stages.2.", "layer3."), wrong
