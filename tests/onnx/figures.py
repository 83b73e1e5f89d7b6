"""What ONNX Runtime gives for single nodes, as lines of C++ for figures.hpp. Needs onnx and onnxruntime."""
import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

TYPES = {"float32": "Float", "float64": "Double", "uint8": "Uint8", "int8": "Int8", "int32": "Int32", "int64": "Int64", "bool": "Bool",
         "object": "String"}


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
    return f"{value:.9g}" if np.isfinite(value) else "kNan" if np.isnan(value) else "kInfinity" if value > 0 else "-kInfinity"


def quoted(value):
    return '"' + (value.decode() if isinstance(value, bytes) else value) + '"'


def figure(x):
    x = np.asarray(x)
    shape = f"{{{', '.join(map(str, x.shape))}}}"
    if x.dtype == object:
        return f"{{Element::String, {shape}, {{}}, {{{', '.join(quoted(v) for v in x.ravel())}}}}}"
    return f"{{Element::{TYPES[x.dtype.name]}, {shape}, {{{', '.join(number(v) for v in x.astype(np.float64).ravel())}}}}}"


def attribute(name, value):
    if isinstance(value, np.ndarray):
        return f'tensor_attribute("{name}", {figure(value)})'
    if isinstance(value, float):
        return f'attribute("{name}", float{{{number(value)}}})'
    if isinstance(value, str):
        return f'attribute("{name}", "{value}")'
    if not isinstance(value, list):
        return f'attribute("{name}", std::int64_t{{{value}}})'
    if isinstance(value[0], str):
        return f'words_attribute("{name}", {{{", ".join(map(quoted, value))}}})'
    if isinstance(value[0], float):
        return f'floats_attribute("{name}", {{{", ".join(map(number, value))}}})'
    return f'attribute("{name}", {{{", ".join(map(str, value))}}})'


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
    print(f'{{"{op}",\n {{{", ".join(attribute(*a) for a in attributes.items())}}},\n {{'
          + ",\n  ".join("{}" if x is None else figure(x) for x in inputs) + "},\n {"
          + ",\n  ".join(figure(found[list(wanted).index(n)]) if n in wanted else "{}" for n in range(outputs)) + "}},")


def begin(script):
    print(f"// Written by {script} with ONNX Runtime {onnxruntime.__version__}.")
