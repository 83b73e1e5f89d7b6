"""Writes microsoft_figures.json: what ONNX Runtime gives for the operators of com.microsoft. Needs onnx and onnxruntime."""
import numpy as np

from figures import case, floats, integers, write

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
# ---- joined by the optimizer: convolutions and products with what follows ------------------------------------------
picture, filters = floats(1, 2, 4, 4), floats(3, 2, 3, 3, seed=2)
for activation, parameters in [("Relu", []), ("Tanh", []), ("Sigmoid", []), ("LeakyRelu", [0.25]), ("Clip", [-0.5, 1.0]),
                               ("HardSigmoid", [0.25, 0.5])]:
    more = {"activation_params": parameters} if parameters else {}
    case("FusedConv", [picture, filters, floats(3, seed=3)], activation=activation, pads=[1, 1, 1, 1], strides=[2, 2], **more)
case("FusedConv", [picture, filters, None, floats(1, 3, 2, 2, seed=4)], activation="Relu")
case("FusedConv", [picture, filters])
for activation, more in [("Relu", {}), ("LeakyRelu", {"activation_alpha": 0.25}),
                         ("HardSigmoid", {"activation_alpha": 0.25, "activation_beta": 0.5})]:
    case("FusedGemm", [floats(2, 3), floats(3, 4, seed=2), floats(4, seed=3)], activation=activation, alpha=0.5, beta=2.0, **more)
case("FusedGemm", [floats(3, 2), floats(4, 3, seed=2)], activation="Tanh", transA=1, transB=1)

# ---- quantised products --------------------------------------------------------------------------------------------
scale, zero = np.array(0.02, np.float32), np.array(128, np.uint8)
codes = integers("int8", -100, 100, 3, 4)
case("DynamicQuantizeMatMul", [floats(2, 3), codes, np.array(0.05, np.float32)])
case("DynamicQuantizeMatMul", [floats(2, 3), codes, np.array([0.05, 0.1, 0.2, 0.025], np.float32),
                               np.array([1, -2, 0, 3], np.int8), floats(4, seed=2)])
case("MatMulIntegerToFloat", [integers("uint8", 0, 256, 2, 3), codes, scale, np.array(0.05, np.float32), zero,
                              np.array(-3, np.int8), floats(4, seed=2)])
case("MatMulIntegerToFloat", [integers("uint8", 0, 256, 2, 3), codes, scale,
                              np.array([0.05, 0.1, 0.2, 0.025], np.float32)])
gemm = [integers("uint8", 0, 256, 2, 3), scale, zero, codes, np.array(0.05, np.float32), np.array(-3, np.int8)]
columns = [codes.T.copy(), np.array([0.05, 0.1, 0.2, 0.025], np.float32), np.array([1, -2, 0, 3], np.int8)]
case("QGemm", [*gemm, integers("int32", -900, 900, 4), np.array(1.5, np.float32), np.array(120, np.uint8)], alpha=0.5)
case("QGemm", [gemm[0].T.copy(), *gemm[1:3], *columns, integers("int32", -900, 900, 2, 4)], transA=1, transB=1)
# What lies on the 256 steps between its least and its most is not changed by being rounded to them.
steps, hidden = np.array([[[-100, 32, 155]]], np.float32) / 64, np.array([[[-100, 155]], [[155, -100]]], np.float32) / 128
of_both = [np.array([0.01, 0.02], np.float32), np.array([3, -2], np.int8)]
case("DynamicQuantizeLSTM", [steps, integers("int8", -100, 100, 2, 3, 8), integers("int8", -100, 100, 2, 2, 8, seed=2),
                             floats(2, 16, seed=3), None, hidden, floats(2, 1, 2, seed=4), floats(2, 6, seed=5), *of_both, *of_both],
     outputs=3, direction="bidirectional", hidden_size=2)
case("DynamicQuantizeLSTM", [steps, integers("int8", -100, 100, 1, 3, 8), integers("int8", -100, 100, 1, 2, 8),
                             None, None, hidden[:1], None, None, np.arange(1, 9, dtype=np.float32).reshape(1, 8) / 128,
                             np.zeros((1, 8), np.int8), np.array([0.02], np.float32), np.array([7], np.int8)],
     outputs=3, hidden_size=2)
# x and the hidden state are rounded to 8 bits before each product: x all at once, the state at each moment. Lengths that
# differ, peepholes, a scale for each column, weights of either sign, a last state alone.
def quantised_lstm(time, batch, width, hidden, direction="forward", kind="int8", columns=False, lengths=None, bias=True, states=True,
                   peepholes=False, wanted=None, **more):
    both = 2 if direction == "bidirectional" else 1
    low, high, zero = (-120, 120, 0) if kind == "int8" else (5, 250, 128)
    size = (both, 4 * hidden) if columns else (both,)
    scale, zeros = [(np.abs(floats(*size, seed=n)) + 0.5).astype(np.float32) / 128 for n in (6, 7)], np.full(size, zero, kind)
    if not columns:
        zeros = zeros + np.arange(both).astype(kind)
    case("DynamicQuantizeLSTM",
         [floats(time, batch, width), integers(kind, low, high, both, width, 4 * hidden), integers(kind, low, high, both, hidden, 4 * hidden, seed=2),
          floats(both, 8 * hidden, seed=3) / 8 if bias else None, None if lengths is None else np.array(lengths, np.int32),
          floats(both, batch, hidden, seed=4) / 2 if states else None, floats(both, batch, hidden, seed=5) if states else None,
          floats(both, 3 * hidden, seed=6) / 4 if peepholes else None, scale[0], zeros, scale[1], zeros],
         outputs=3, wanted=wanted, direction=direction, hidden_size=hidden, **more)


quantised_lstm(5, 1, 3, 2)
quantised_lstm(4, 2, 3, 2, direction="bidirectional", kind="uint8")
quantised_lstm(4, 3, 2, 2, direction="reverse", columns=True, lengths=[4, 1, 2])
quantised_lstm(4, 3, 2, 2, direction="bidirectional", kind="uint8", columns=True, lengths=[2, 3, 1], peepholes=True)
quantised_lstm(4, 2, 2, 3, lengths=[1, 4], wanted=[1, 2], bias=False, clip=0.5)
quantised_lstm(3, 2, 2, 2, states=False, input_forget=1)
for unidirectional in [0, 1]:
    case("QAttention", [integers("uint8", 0, 256, 2, 3, 4), integers("int8", -100, 100, 4, 12), floats(12, seed=3), scale,
                        np.array(0.01, np.float32), mask, zero, np.array(2, np.int8)], num_heads=2,
         unidirectional=unidirectional)
case("QAttention", [integers("uint8", 0, 256, 1, 3, 4), integers("uint8", 0, 256, 4, 12), floats(12, seed=3), scale,
                    np.array(0.01, np.float32), None, zero, np.array(120, np.uint8), floats(2, 1, 2, 2, 2, seed=4)],
     outputs=2, num_heads=2)
image = integers("uint8", 0, 256, 1, 4, 4, 2)
kernel = [integers("int8", -100, 100, 3, 2, 3, 3), np.array(0.01, np.float32), np.array(0, np.int8)]
case("QLinearConv", [image, scale, zero, *kernel, *out], channels_last=1, pads=[1, 0, 1, 0])
case("QLinearConv", [image, scale, zero, *kernel, *out, integers("int32", -500, 500, 3)], channels_last=1, strides=[2, 2])
case("QLinearWhere", [np.array([[True, False, True, False]]), a, *quant, b, *other, *out])

# ---- attention -----------------------------------------------------------------------------------------------------
indices = np.array([0, 1] * 16, np.int32)
case("MatMulNBits", [floats(2, 32), packed, scales, None, indices], K=32, N=3, bits=4, block_size=block)
case("RotaryEmbedding", [floats(2, 2, 3, 4), np.array([1], np.int64), cosine, sine], scale=2.0)  # which changes nothing
heads = {"num_heads": 2, "kv_num_heads": 1}
new = [floats(2, 3, 16), floats(2, 3, 8, seed=2), floats(2, 3, 8, seed=3)]
step = [floats(2, 1, 16), floats(2, 1, 8, seed=2), floats(2, 1, 8, seed=3)]
past = [floats(2, 1, 4, 8, seed=4), floats(2, 1, 4, 8, seed=5)]


def places(total, *last):
    """The last place of each sequence, and how many places there are."""
    return [np.array(last, np.int32), np.array(total, np.int32)]


case("GroupQueryAttention", [*new, None, None, *places(3, 2, 2)], outputs=3, **heads)
case("GroupQueryAttention", [*step, *past, *places(5, 4, 4)], outputs=3, **heads)
case("GroupQueryAttention", [*step, *past, *places(5, 2, 4)], outputs=3, **heads)
case("GroupQueryAttention", [*step, *past, *places(5, 4, 4)], outputs=3, local_window_size=2, softcap=1.5, scale=0.5, **heads)
case("GroupQueryAttention", [*step, *past, *places(5, 4, 4)], outputs=3, smooth_softmax=1, **heads)
case("GroupQueryAttention", [*step, *past, *places(5, 4, 4), None, None, None, floats(1, 1, 1, 5, seed=6)], outputs=3, **heads)
sinks = [None, None, None, np.array([0.5, -1.0], np.float32)]
case("GroupQueryAttention", [*new, None, None, *places(3, 2, 2), None, None, *sinks[1:]], outputs=3, **heads)
case("GroupQueryAttention", [*step, *past, *places(5, 4, 2), *sinks[:3], floats(1, 1, 1, 5, seed=6), sinks[3]], outputs=3,
     softcap=1.5, **heads)
turned = {"do_rotary": 1, "num_heads": 2, "kv_num_heads": 1}
wide = [floats(5, 8, seed=3), floats(5, 8, seed=4)]  # cosines and sines
case("GroupQueryAttention", [floats(1, 2, 64), None, None, None, None, *places(2, 1), *wide], outputs=3, **turned)
case("GroupQueryAttention", [floats(1, 1, 32), floats(1, 1, 16, seed=2), floats(1, 1, 16, seed=3), floats(1, 1, 2, 16, seed=4),
                             floats(1, 1, 2, 16, seed=5), *places(3, 2), *wide], outputs=3, rotary_interleaved=1, **turned)
write("microsoft_figures.json")
