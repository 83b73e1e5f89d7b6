"""Writes standard_figures.json: what ONNX Runtime gives for operators of ai.onnx that the standard has no tests of. Needs
onnx and onnxruntime."""
import numpy as np

import figures
from figures import floats


def case(op, inputs, **options):
    figures.case(op, inputs, domain="", version=17, **options)


picture = floats(2, 2, 5, 6)
boxes = np.array([[0, 0, 0, 5, 4], [1, 2, 1, 4, 3], [0, 3, 3, 3, 3], [1, 1, 0, 9, 9]], np.float32)
case("MaxRoiPool", [picture, boxes], pooled_shape=[2, 3])
case("MaxRoiPool", [picture, boxes * np.array([1, 2, 2, 2, 2], np.float32)], pooled_shape=[3, 2], spatial_scale=0.5)
case("GlobalLpPool", [picture])
case("GlobalLpPool", [picture], p=1)
case("GlobalLpPool", [floats(1, 2, 3)], p=3)
case("DepthToSpace", [floats(1, 8, 2, 3)], blocksize=2)
case("DepthToSpace", [floats(2, 8, 1, 2)], blocksize=2, mode="CRD")
case("DepthToSpace", [floats(1, 9, 1, 2)], blocksize=3, mode="DCR")
# ONNX Runtime's own, in this domain.
case("SimplifiedLayerNormalization", [floats(2, 3, 4), floats(4, seed=3)], outputs=2, axis=-1, epsilon=1e-5)
# Without a dimension of parts, which the standard asks for and PyTorch leaves out.
case("STFT", [floats(2, 8), np.array(2, np.int64), floats(4, seed=3), np.array(4, np.int64)], onesided=1)
# A dimension of one element, before and behind the line that is convolved.
case("Conv", [floats(2, 3, 7, 1), floats(4, 3, 3, 1, seed=2), floats(4, seed=3)], strides=[2, 1], pads=[1, 0, 2, 0])
case("Conv", [floats(2, 4, 1, 7), floats(4, 2, 1, 2, seed=2)], dilations=[1, 2], group=2)
case("Conv", [floats(2, 3, 1, 1), floats(4, 3, 1, 1, seed=2)])
figures.write("standard_figures.json")
