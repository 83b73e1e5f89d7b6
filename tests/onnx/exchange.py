"""Has onnx.checker look at files that Kiln writes, and ONNX Runtime run them: exchange.py WRITE_SAMPLES.

Exits with 77, which ctest shows as skipped, where Python has no onnx, onnxruntime and numpy."""
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import numpy_helper
except (ImportError, OSError) as error:
    print(f"skipped: {error}")
    sys.exit(77)


def tensor(path):
    return numpy_helper.to_array(onnx.load_tensor(path))


def check(directory):
    onnx.checker.check_model(str(directory / "model.onnx"), full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(directory / "model.onnx", options, providers=["CPUExecutionProvider"])
    for data in sorted(directory.glob("test_data_set_*")):
        feeds = {value.name: tensor(data / f"input_{i}.pb") for i, value in enumerate(session.get_inputs())}
        for i, actual in enumerate(session.run(None, feeds)):
            expected = tensor(data / f"output_{i}.pb")
            assert actual.dtype == expected.dtype, f"output {i} is {actual.dtype}, expected {expected.dtype}"
            np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5, err_msg=f"{data}, output {i}")


failed = 0
with tempfile.TemporaryDirectory() as name:
    subprocess.run([sys.argv[1], name], check=True)
    for directory in sorted(pathlib.Path(name).iterdir()):
        try:
            check(directory)
            print("ok", directory.name)
        except Exception as error:  # all of them are to be told
            failed += 1
            print("FAILED", directory.name, str(error)[:600])
sys.exit(failed > 0)
