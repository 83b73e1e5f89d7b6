"""Runs the .onnx files that other packages ship by the program kiln, beside ONNX Runtime: real_files.py KILN.
tests/support/python_with.py finds a Python that has onnx and onnxruntime; which of the packages it has besides is found
here, without importing them (some need PyTorch to be imported). Exits with 77 where there are none."""
import importlib.util
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

SKIPPED = 77
PACKAGES = ["silero_vad", "openwakeword", "rapidocr", "rapidocr_onnxruntime", "magika"]
TYPES = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(float16)": np.float16}


def example(value, fixed):
    """Numbers for an input: those that are fixed (a rate), tokens, pixels or sound."""
    if value.name in fixed:
        return fixed[value.name]
    shape = []
    for i, size in enumerate(value.shape):
        shape.append(size if isinstance(size, int) else fixed.get((value.name, i), 1))
    random = np.random.default_rng(7)
    if np.issubdtype(TYPES[value.type], np.integer):
        return random.integers(0, 256, shape).astype(TYPES[value.type])
    return random.normal(0, 0.5, shape).astype(TYPES[value.type])


def sizes_of(package, name):
    """What files leave free, as their packages' own programs feed it: inputs by name, sizes by name and dimension."""
    if package == "silero_vad":  # 32 ms and what went before, at two rates
        return [{"sr": np.array(rate, np.int64), ("input", 1): rate * 36 // 1000} for rate in (16000, 8000)]
    if package.startswith("rapidocr"):  # pictures of words, and of pages
        return [{("x", 1): 3, ("x", 2): 64 if "_det_" in name else 48, ("x", 3): 192}]
    return [{}]


def compare(kiln, path, fixed, folder):
    """What differs; None where ONNX Runtime does not take the inputs."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feeds = {value.name: example(value, fixed) for value in session.get_inputs()}
    try:
        expected = session.run(None, feeds)
    except Exception as error:
        print("   ONNX Runtime:", str(error).splitlines()[0][:160])
        return None
    command = [kiln, "run", path, "--relative", "1e-3", "--absolute", "1e-4"]
    for i, (name, array) in enumerate(feeds.items()):
        np.save(f"{folder}/in{i}.npy", array)
        command += ["--input", f"{name}={folder}/in{i}.npy"]
    for i, (value, array) in enumerate(zip(session.get_outputs(), expected)):
        np.save(f"{folder}/out{i}.npy", array)
        command += ["--compare", f"{value.name}={folder}/out{i}.npy"]
    done = subprocess.run(command, capture_output=True, text=True)
    return "" if done.returncode == 0 else (done.stdout + done.stderr).strip()


failed = compared = 0
for package in PACKAGES:
    spec = importlib.util.find_spec(package)
    files = sorted(pathlib.Path(spec.origin).parent.rglob("*.onnx")) if spec and spec.origin else []
    if not files:
        print("skipped:", package, "is not there" if not spec else "holds no .onnx file")
    for path in files:
        for fixed in sizes_of(package, path.name):
            with tempfile.TemporaryDirectory() as folder:
                found = compare(sys.argv[1], str(path), fixed, folder)
            compared += found is not None
            failed += bool(found)
            print("not compared" if found is None else "FAILED" if found else "ok", package, path.name, found or "")
print(compared, "comparisons,", failed, "differ")
sys.exit(1 if failed else 0 if compared else SKIPPED)
