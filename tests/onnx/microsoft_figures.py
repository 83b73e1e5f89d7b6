"""Prints microsoft_figures.inc: what ONNX Runtime gives for the operators of com.microsoft. Needs onnx and onnxruntime."""
import numpy as np
import onnxruntime
from onnx import TensorProto, helper

TYPES = {"float32": "Float", "uint8": "Uint8", "int8": "Int8", "int32": "Int32", "int64": "Int64"}


def floats(*shape, seed=1):
    """Short decimals that look like noise."""
    count = int(np.prod(shape))
    return (((np.arange(count) * (7 + 2 * seed) + 3 * seed) % 23 - 11) / 8).astype(np.float32).reshape(shape)


def integers(kind, low, high, *shape, seed=1):
    count = int(np.prod(shape))
    return (low + (np.arange(count) * (5 + 2 * seed) + seed) % (high - low)).astype(kind).reshape(shape)


def number(value):
    return f"{value:.9g}"


def case(op, inputs, outputs=1, wanted=None, **attributes):
    names = ["" if x is None else f"i{n}" for n, x in enumerate(inputs)]
    wanted = range(outputs) if wanted is None else wanted
    results = [f"o{n}" if n in wanted else "" for n in range(outputs)]
    node = helper.make_node(op, names, results, domain="com.microsoft", **attributes)
    given = {n: x for n, x in zip(names, inputs) if x is not None}
    graph = helper.make_graph(
        [node], "g", [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in given.items()],
        [helper.make_empty_tensor_value_info(n) for n in results if n])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)],
                              ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    found = session.run(None, given)

    def tensor(x):
        values = ", ".join(number(v) for v in np.asarray(x, np.float64).ravel())
        return f"{{Element::{TYPES[x.dtype.name]}, {{{', '.join(map(str, x.shape))}}}, {{{values}}}}}"

    def attribute(name, value):
        if isinstance(value, float):
            return f'attribute("{name}", float{{{number(value)}}})'
        if isinstance(value, str):
            return f'attribute("{name}", "{value}")'
        if isinstance(value, list):
            return f'attribute("{name}", {{{", ".join(map(str, value))}}})'
        return f'attribute("{name}", std::int64_t{{{value}}})'

    print(f'{{"{op}",\n {{{", ".join(attribute(*a) for a in attributes.items())}}},\n {{'
          + ",\n  ".join("{}" if x is None else tensor(x) for x in inputs) + "},\n {"
          + ",\n  ".join(tensor(found[list(wanted).index(n)]) if n in wanted else "{}" for n in range(outputs)) + "}},")


print("// Written by microsoft_figures.py with ONNX Runtime " + onnxruntime.__version__ + ".")
case("FusedMatMul", [floats(2, 3, 2), floats(2, 3, 4, seed=2)], alpha=0.5, transA=1)
case("FusedMatMul", [floats(2, 3), floats(4, 3, seed=2)], transB=1)
case("FusedMatMul", [floats(2, 3, 2), floats(2, 3, 2, seed=2)], transBatchA=1, transBatchB=1, transA=1)
case("BiasGelu", [floats(2, 4), floats(4, seed=2)])
case("FastGelu", [floats(2, 4), floats(4, seed=2)])
case("FastGelu", [floats(2, 4)])
case("Gelu", [floats(2, 4)])
case("QuickGelu", [floats(2, 4)], alpha=1.702)
x, skip, gamma, beta, bias = floats(1, 2, 4), floats(1, 2, 4, seed=2), floats(4, seed=3), floats(4, seed=4), floats(4, seed=5)
case("SkipLayerNormalization", [x, skip, gamma, beta, bias], outputs=4, wanted=[0, 3], epsilon=1e-5)
case("SkipLayerNormalization", [x, skip, gamma], epsilon=1e-12)
case("SkipSimplifiedLayerNormalization", [x, skip, gamma, bias], outputs=4, wanted=[0, 3], epsilon=1e-5)
ids, segments = integers("int32", 0, 5, 2, 3), integers("int32", 0, 2, 2, 3)
tables = [floats(5, 4), floats(4, 4, seed=2), floats(2, 4, seed=3)]
mask = np.array([[1, 1, 0], [1, 1, 1]], np.int32)
case("EmbedLayerNormalization", [ids, segments, *tables, gamma, beta, mask], outputs=2, epsilon=1e-5)
case("EmbedLayerNormalization", [ids, None, tables[0], tables[1], None, gamma, beta], outputs=3, wanted=[0, 1, 2], epsilon=1e-5)
cosine, sine = floats(5, 2, seed=3), floats(5, 2, seed=4)
places = integers("int64", 0, 5, 2, 3)
case("RotaryEmbedding", [floats(2, 3, 8), places, cosine, sine], num_heads=0)
case("RotaryEmbedding", [floats(2, 3, 8), places, cosine, sine], interleaved=1)
case("RotaryEmbedding", [floats(2, 2, 3, 4), np.array([1], np.int64), cosine, sine])
weights, biases = floats(4, 12, seed=2) / 4, floats(12, seed=3)
case("Attention", [floats(2, 3, 4), weights, biases], num_heads=2)
case("Attention", [floats(2, 3, 4), weights, biases], num_heads=2, unidirectional=1)
case("Attention", [floats(2, 3, 4), weights, biases, mask], num_heads=2)
case("Attention", [floats(2, 3, 4), weights, biases, np.array([2, 3], np.int32)], num_heads=2)
case("Attention", [floats(2, 3, 4), weights, biases, None, None, floats(2, 2, 3, 3, seed=4)], num_heads=2, scale=0.25)
case("Attention", [floats(2, 1, 4), weights, biases, None, floats(2, 2, 2, 2, 2, seed=4)], outputs=2, num_heads=2)
case("MultiHeadAttention", [floats(2, 3, 4), floats(2, 2, 4, seed=2), floats(2, 2, 4, seed=3), biases], num_heads=2)
block = 16
packed = integers("uint8", 0, 256, 3, 2, block // 2)
scales = (floats(3 * 2, seed=2) / 8).reshape(-1)
case("MatMulNBits", [floats(2, 32), packed, scales], K=32, N=3, bits=4, block_size=block)
case("MatMulNBits", [floats(2, 32), packed, scales, integers("uint8", 0, 256, 3)], K=32, N=3, bits=4, block_size=block)
case("MatMulNBits", [floats(2, 20), packed, scales, None, None, floats(3, seed=5)], K=20, N=3, bits=4, block_size=block)
case("MatMulNBits", [floats(2, 32), integers("uint8", 0, 256, 3, 2, block), scales], K=32, N=3, bits=8, block_size=block)
a, b = integers("uint8", 0, 256, 2, 4), integers("uint8", 0, 256, 4, seed=2)
quant = [np.array(0.02, np.float32), np.array(128, np.uint8)]
other = [np.array(0.01, np.float32), np.array(100, np.uint8)]
out = [np.array(0.03, np.float32), np.array(120, np.uint8)]
case("QLinearAdd", [a, *quant, b, *other, *out])
case("QLinearMul", [a, *quant, b, *other, *out])
signed = [integers("int8", -128, 128, 2, 4), np.array(0.05, np.float32), np.array(3, np.int8)]
case("QLinearAdd", [*signed, *signed, np.array(0.1, np.float32), np.array(-5, np.int8)])
case("QLinearSigmoid", [a, *quant, np.array(1 / 256, np.float32), np.array(0, np.uint8)])
case("QLinearLeakyRelu", [a, *quant, *out], alpha=0.1)
image = integers("uint8", 0, 256, 1, 2, 3, 3)
case("QLinearGlobalAveragePool", [image, *quant, *out], channels_last=0)
case("QLinearAveragePool", [image, *quant, *out], kernel_shape=[2, 2], pads=[1, 1, 0, 0])
case("QLinearConcat", [*out, a, *quant, integers("uint8", 0, 256, 2, 1, seed=3), *other], axis=1)
case("QLinearSoftmax", [a, *quant, np.array(1 / 256, np.float32), np.array(0, np.uint8)], axis=-1, opset=13)
