"""Has onnx.checker look at files that Kiln writes, and ONNX Runtime run them: exchange.py WRITE_SAMPLES.
tests/support/python_with.py finds a Python that has them."""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented


def tensor(path):
    return numpy_helper.to_array(onnx.load_tensor(path))


def check(directory):
    """Checks the file, and runs it where ONNX Runtime has its operator set and types. Whether that was so."""
    path = str(directory / "model.onnx")
    onnx.checker.check_model(path, full_check=True)
    model = onnx.load(path, load_external_data=False)
    brain_halves = any(value.type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16 for value in model.graph.input)
    if model.opset_import[0].version > NEWEST or brain_halves:
        return False
    halves = any(value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT16 for value in model.graph.input)
    tolerance = {"rtol": 1e-2, "atol": 1e-2} if halves else {"rtol": 1e-4, "atol": 1e-5}
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(directory / "model.onnx", options, providers=["CPUExecutionProvider"])
    except NotImplemented as error:  # it knows the operator, and has nothing that runs it
        print(str(error)[:200])
        return False
    for data in sorted(directory.glob("test_data_set_*")):
        feeds = {value.name: tensor(data / f"input_{i}.pb") for i, value in enumerate(session.get_inputs())}
        for i, actual in enumerate(session.run(None, feeds)):
            expected = tensor(data / f"output_{i}.pb")
            assert actual.dtype == expected.dtype, f"output {i} is {actual.dtype}, expected {expected.dtype}"
            np.testing.assert_allclose(actual, expected, **tolerance, err_msg=f"{data}, output {i}")
    return True


def runs(version):
    """Does ONNX Runtime take files of this operator set?"""
    node = onnx.helper.make_node("Relu", ["x"], ["y"])
    x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1]) for name in "xy")
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", [x], [y]), ir_version=10,
                                   opset_imports=[onnx.helper.make_opsetid("", version)])
    try:
        onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        return True
    except Exception:
        return False


NEWEST = max(version for version in range(17, 29) if runs(version))


failed = 0
with tempfile.TemporaryDirectory() as name:
    subprocess.run([sys.argv[1], name], check=True)
    for directory in sorted(pathlib.Path(name).iterdir()):
        try:
            print("ok" if check(directory) else "checked alone", directory.name)
        except Exception as error:  # all of them are to be told
            failed += 1
            print("FAILED", directory.name, str(error)[:600])
sys.exit(failed > 0)
