"""Exchanges every format both ways with the libraries that own them: exchange.py KILN numpy|gguf|torch, the program to test and
whose formats. tests/support/python_with.py finds a Python that has them, and safetensors."""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import safetensors.numpy as safetensors

KILN, OWNER = sys.argv[1:]
if OWNER == "torch":
    import torch
elif OWNER == "gguf":
    import gguf


def convert(source, target, *options):
    subprocess.run([KILN, "convert", str(source), str(target), *options], check=True, stdout=subprocess.DEVNULL)


def same(actual, expected, what):
    assert set(actual) == set(expected), f"{what}: {sorted(actual)}, expected {sorted(expected)}"
    for name, value in expected.items():
        other = actual[name]
        assert other.dtype == value.dtype, f"{what}: {name} is {other.dtype}, expected {value.dtype}"
        assert other.shape == value.shape, f"{what}: {name} is {other.shape}, expected {value.shape}"
        assert np.array_equal(np.asarray(other), np.asarray(value)), f"{what}: {name} differs"
    print("ok", what)


def through_kiln(path, expected, what, *options):
    """What Kiln reads, as safetensors' own library sees it."""
    target = path.with_suffix(".out.safetensors")
    convert(path, target, *options)
    same(safetensors.load_file(target), expected, what)


def arrays():
    rng = np.random.default_rng(1)
    found = {f"a.{t}": (rng.random((2, 3, 4)) * 100).astype(t) for t in
             ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8")}
    return {**found, "scalar": np.array(7, np.int64), "empty": np.zeros((0, 3), np.float32)}


def exchange_numpy(folder, x):
    mask = {**x, "mask": np.array([True, False]), "wide": np.array([2**64 - 1], np.uint64)}
    np.savez(folder / "a.npz", **mask)
    through_kiln(folder / "a.npz", mask, "numpy.savez")
    np.savez_compressed(folder / "c.npz", **mask)
    through_kiln(folder / "c.npz", mask, "numpy.savez_compressed")
    for what, array in (("C", x["a.float32"]), ("Fortran", np.asfortranarray(x["a.int16"])), ("scalar", x["scalar"])):
        np.save(folder / "one.npy", array)
        through_kiln(folder / "one.npy", {"array": array}, f"numpy.save, {what}")
    big = x["a.float32"].astype(">f4")
    np.save(folder / "big.npy", big)
    through_kiln(folder / "big.npy", {"array": x["a.float32"]}, "numpy.save, big-endian")

    safetensors.save_file(mask, folder / "a.safetensors", metadata={"by": "numpy"})
    convert(folder / "a.safetensors", folder / "b.npz")
    same(dict(np.load(folder / "b.npz", allow_pickle=False)), mask, "numpy.load of .npz")
    np.save(folder / "f.npy", x["a.float64"])
    convert(folder / "f.npy", folder / "g.npy")
    assert np.array_equal(np.load(folder / "g.npy", mmap_mode="r"), x["a.float64"])
    convert(folder / "a.safetensors", folder / "a.kiln", "--compress")
    through_kiln(folder / "a.kiln", mask, "a compressed record")
    convert(folder / "a.safetensors", folder / "s.safetensors", "--shards", "100")
    through_kiln(folder / "s.safetensors.index.json", mask, "shards")


def exchange_torch(folder, x):
    tensors = {name: torch.from_numpy(value) for name, value in x.items()}
    base = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    more = {"turned": base.t(), "part": base[1:, 1:3], "same": base, "expanded": torch.ones(1).expand(5),
            "flags": torch.tensor([True, False]), "half": torch.tensor([1.5, -2.25], dtype=torch.bfloat16),
            "weight": torch.nn.Parameter(torch.ones(2, 2))}
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(4, 3)).sum().backward()
    optimizer.step()
    everything = {"model": {**tensors, **more}, "nested": [{"net": model.state_dict()}],
                  "optimizer": optimizer.state_dict(), "epoch": 3}

    def flat(value, path=""):
        if isinstance(value, torch.Tensor):
            value = value.detach()
            return {path: (value.float() if value.dtype == torch.bfloat16 else value).contiguous().numpy()}
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        return {k: v for key, entry in items for k, v in flat(entry, f"{path}.{key}" if path else str(key)).items()}

    expected = flat(everything)
    del expected["model.half"]
    for protocol in (2, 3, 4, 5):
        for zipped in (True, False):
            torch.save(everything, folder / "t.pt", pickle_protocol=protocol, _use_new_zipfile_serialization=zipped)
            through_kiln(folder / "t.pt", expected, f"torch.save, protocol {protocol}, {'zip' if zipped else 'legacy'}",
                         "--except", "model.half")
    torch.save(more, folder / "h.pt")
    convert(folder / "h.pt", folder / "h2.pt")
    back = torch.load(folder / "h2.pt", weights_only=True, mmap=True)
    for name, value in more.items():
        assert back[name].dtype == value.dtype and torch.equal(back[name], value), name
    print("ok torch.load, mapped")

    class Evil:
        def __reduce__(self):
            return print, ("this must not be printed",)

    torch.save({"weight": torch.ones(1), "evil": Evil()}, folder / "evil.pt")
    refused = subprocess.run([KILN, "inspect", str(folder / "evil.pt")], capture_output=True, text=True)
    assert refused.returncode == 2 and "names" in refused.stderr and "print" in refused.stderr, refused
    assert "must not" not in refused.stdout
    print("ok a pickle that would run something is refused")


def exchange_gguf(folder, x):
    rng = np.random.default_rng(2)
    plain = {n: v for n, v in x.items() if v.dtype.name in
             ("float64", "float32", "float16", "int64", "int32", "int16", "int8") and v.size and v.ndim}
    writer = gguf.GGUFWriter(folder / "a.gguf", "test")
    writer.add_string("general.name", "a name")
    writer.add_array("tokens", ["a", "b"])
    for name, value in plain.items():
        writer.add_tensor(name, value)
    expected = dict(plain)
    dense = rng.standard_normal((4, 512), np.float32)
    for kind in ("Q4_0", "Q8_0"):
        kind = gguf.GGMLQuantizationType[kind]
        packed = gguf.quants.quantize(dense, kind)
        writer.add_tensor(kind.name, packed, raw_dtype=kind)
        expected[kind.name] = gguf.quants.dequantize(packed, kind)
    for kind, size in (("Q4_K", 144), ("Q6_K", 210)):
        kind = gguf.GGMLQuantizationType[kind]
        packed = rng.integers(0, 256, (3, 2 * size), np.uint8)
        scale = np.frombuffer(np.float16(0.01).tobytes(), np.uint8)
        for block in (0, size):
            packed[:, block : block + 2] = packed[:, block + 2 : block + 4] = packed[:, block + size - 2 : block + size] = scale
        writer.add_tensor(kind.name, packed, raw_dtype=kind)
        expected[kind.name] = gguf.quants.dequantize(packed, kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    through_kiln(folder / "a.gguf", expected, "GGUFWriter")

    safetensors.save_file(plain, folder / "p.safetensors", metadata={"general.architecture": "test", "a.count": "3"})
    convert(folder / "p.safetensors", folder / "p.gguf")
    reader = gguf.GGUFReader(folder / "p.gguf")
    same({t.name: t.data for t in reader.tensors}, plain, "GGUFReader")
    assert reader.fields["a.count"].contents() == 3
    assert reader.fields["general.architecture"].contents() == "test"

    safetensors.save_file({"w": dense}, folder / "d.safetensors", metadata={"general.architecture": "test"})
    for name in ("q4_0", "q8_0"):
        convert(folder / "d.safetensors", folder / "d.gguf", "--quantise", name)
        kind, tensor = gguf.GGMLQuantizationType[name.upper()], gguf.GGUFReader(folder / "d.gguf").tensors[0]
        assert tensor.tensor_type == kind
        same({"w": tensor.data}, {"w": gguf.quants.quantize(dense, kind)}, f"GGUFReader, {name}")


with tempfile.TemporaryDirectory() as name:
    {"numpy": exchange_numpy, "gguf": exchange_gguf, "torch": exchange_torch}[OWNER](pathlib.Path(name), arrays())
