"""What ONNX Runtime gives for single nodes, as data files for figures.hpp. Needs onnx and onnxruntime."""
import json
import pathlib

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

# The words of onnx.proto for the types of numpy.
TYPES = {"float32": "float", "float64": "double", "object": "string"}
CASES = []


def floats(*shape, seed=1):
    """Short decimals that look like noise."""
    count = int(np.prod(shape))
    return (((np.arange(count) * (7 + 2 * seed) + 3 * seed) % 23 - 11) / 8).astype(np.float32).reshape(shape)


def integers(kind, low, high, *shape, seed=1):
    count = int(np.prod(shape))
    return (low + (np.arange(count) * (5 + 2 * seed) + seed) % (high - low)).astype(kind).reshape(shape)


def words(*list):
    return np.array(list, dtype=object)


def number(value):
    """Nine digits are all that a float32 has. JSON has no numbers that are not finite."""
    if not np.isfinite(value):
        return "nan" if np.isnan(value) else "inf" if value > 0 else "-inf"
    short = float(f"{value:.9g}")
    return int(short) if short.is_integer() else short


def words_of(values):
    return [value.decode() if isinstance(value, bytes) else value for value in values]


def figure(x):
    """None for a tensor that is absent."""
    if x is None:
        return None
    x = np.asarray(x)
    described = {"element": TYPES.get(x.dtype.name, x.dtype.name), "shape": list(x.shape)}
    if x.dtype == object:
        return described | {"strings": words_of(x.ravel())}
    return described | {"values": [number(value) for value in x.astype(np.float64).ravel()]}


def attribute(name, value):
    """The value stands in the field that AttributeProto has for its type."""
    if isinstance(value, np.ndarray):
        return {"name": name, "t": figure(value)}
    if isinstance(value, float):
        return {"name": name, "f": number(value)}
    if isinstance(value, str):
        return {"name": name, "s": value}
    if not isinstance(value, list):
        return {"name": name, "i": value}
    if isinstance(value[0], str):
        return {"name": name, "strings": words_of(value)}
    if isinstance(value[0], float):
        return {"name": name, "floats": [number(each) for each in value]}
    return {"name": name, "ints": value}


def case(op, inputs, outputs=1, wanted=None, domain="com.microsoft", version=1, **attributes):
    """`wanted` are the outputs that the node names, all of them where nothing is said."""
    names = ["" if x is None else f"i{n}" for n, x in enumerate(inputs)]
    wanted = range(outputs) if wanted is None else wanted
    results = [f"o{n}" if n in wanted else "" for n in range(outputs)]
    given = {n: x for n, x in zip(names, inputs) if x is not None}
    stored = {n: numpy_helper.from_array(v) if isinstance(v, np.ndarray) else v for n, v in attributes.items()}
    node = helper.make_node(op, names, results, domain=domain, **stored)
    graph = helper.make_graph(
        [node], "g",
        [helper.make_tensor_value_info(n, TensorProto.STRING if x.dtype == object else helper.np_dtype_to_tensor_dtype(x.dtype),
                                       x.shape) for n, x in given.items()],
        [helper.make_empty_tensor_value_info(n) for n in results if n])
    opsets = [helper.make_opsetid("", version if domain == "" else 17)] + ([helper.make_opsetid(domain, version)] if domain else [])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # a thread rounds the rows of a batch that it has, and not all of them
    session = onnxruntime.InferenceSession(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    found = session.run(None, given)
    CASES.append({"op": op, "attributes": [attribute(*each) for each in attributes.items()], "inputs": [figure(x) for x in inputs],
                  "outputs": [figure(found[list(wanted).index(n)]) if n in wanted else None for n in range(outputs)]})


def write(name):
    """The cases so far to that file beside this one, a line each."""
    rows = ",\n".join(json.dumps(each, separators=(",", ":")) for each in CASES)
    made_with = json.dumps(f"ONNX Runtime {onnxruntime.__version__}")
    pathlib.Path(__file__).with_name(name).write_text(f'{{"made_with": {made_with},\n"cases": [\n{rows}]}}\n')
