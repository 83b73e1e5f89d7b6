"""Writes opencv.safetensors: pictures, and what OpenCV makes of them, for the tests beside it. Needs opencv-python-headless, numpy
and safetensors:  python3 opencv_figures.py opencv.safetensors

Names say what was done: gaussian.bytes.0 is the first case of gaussian_blur for bytes; the tests have the same lists of cases."""
import sys

import cv2
import numpy as np
from safetensors.numpy import save_file

cv2.setNumThreads(1)
RANDOM = np.random.default_rng(7)
BORDERS = [cv2.BORDER_CONSTANT, cv2.BORDER_REPLICATE, cv2.BORDER_REFLECT, cv2.BORDER_REFLECT_101, cv2.BORDER_WRAP]
FIGURES = {}


def keep(name, array):
    FIGURES[name] = np.ascontiguousarray(array)


def smooth(shape, low, high):
    """Noise with some structure."""
    noise = RANDOM.uniform(0, 1, shape)
    for axis in (-1, -2):
        noise = 0.5 * noise + 0.25 * (np.roll(noise, 1, axis) + np.roll(noise, -1, axis))
    noise = (noise - noise.min()) / (noise.max() - noise.min())
    return low + noise * (high - low)


BYTES = np.rint(smooth((2, 3, 13, 17), 0, 255)).astype(np.uint8)
FLOATS = smooth((2, 3, 13, 17), -0.5, 1.5).astype(np.float32)
SMALL = BYTES[:1, :1, :3, :4]
PICTURES = {"bytes": BYTES, "floats": FLOATS}
for kind, pictures in PICTURES.items():
    keep(kind, pictures)
keep("small", SMALL)


def each(function, pictures):
    """function of each channel by itself."""
    return np.stack([np.stack([function(np.ascontiguousarray(channel)) for channel in picture]) for picture in pictures])


def whole(function, pictures):
    """function of each picture with its channels last."""
    results = []
    for picture in pictures:
        result = function(np.ascontiguousarray(picture.transpose(1, 2, 0)))
        results.append(result[None] if result.ndim == 2 else result.transpose(2, 0, 1))
    return np.stack(results)


def cases(name, functions, which=each):
    for kind, pictures in PICTURES.items():
        for i, function in enumerate(functions):
            keep(f"{name}.{kind}.{i}", which(function, pictures))


def borders():
    for i, border in enumerate(BORDERS):
        keep(f"border.{i}", each(lambda x: cv2.copyMakeBorder(x, 2, 3, 1, 4, border, value=9), BYTES))
        keep(f"border.far.{i}", each(lambda x: cv2.copyMakeBorder(x, 11, 20, 13, 9, border, value=9), SMALL))


def filters():
    kernel = RANDOM.uniform(-1, 1, (3, 5)).astype(np.float32)
    even = RANDOM.uniform(-1, 1, (4, 2)).astype(np.float32)
    keep("filter2d.kernel", kernel)
    keep("filter2d.even", even)
    cases("filter2d", [lambda x, b=b: cv2.filter2D(x, -1, kernel, delta=3, borderType=b) for b in BORDERS[:4]]
          + [lambda x: cv2.filter2D(x, -1, even)])
    down, across = np.array([0.25, 0.5, 0.375], np.float32), np.array([-0.5, 1, 0.25, 0.5, 0.125], np.float32)
    cases("separable", [lambda x: cv2.sepFilter2D(x, -1, across, down)])
    cases("box", [lambda x, s=s, b=b: cv2.blur(x, s[::-1], borderType=b) for s, b in
                  [((3, 5), cv2.BORDER_REFLECT_101), ((1, 7), cv2.BORDER_REPLICATE), ((21, 11), cv2.BORDER_REFLECT),
                   ((3, 3), cv2.BORDER_CONSTANT)]])
    cases("gaussian", [
        lambda x: cv2.GaussianBlur(x, (5, 5), 1.2),
        lambda x: cv2.GaussianBlur(x, (3, 7), sigmaX=0.7, sigmaY=2, borderType=cv2.BORDER_REPLICATE),
        lambda x: cv2.GaussianBlur(x, (0, 0), 1.5, borderType=cv2.BORDER_REFLECT),
        lambda x: cv2.GaussianBlur(x, (0, 0), 4, borderType=cv2.BORDER_CONSTANT)])
    cases("median", [lambda x, s=s: cv2.medianBlur(x, s) for s in (3, 5)])
    keep("median.bytes.2", each(lambda x: cv2.medianBlur(x, 7), BYTES))
    keep("median.bytes.3", each(lambda x: cv2.medianBlur(x, 11), BYTES))
    for kind, colour in (("bytes", 40), ("floats", 0.3)):
        keep(f"bilateral.{kind}.0", each(lambda x: cv2.bilateralFilter(x, 5, colour, 2), PICTURES[kind]))
        keep(f"bilateral.{kind}.1", whole(
            lambda x: cv2.bilateralFilter(x, 7, colour, 1.5, borderType=cv2.BORDER_REPLICATE), PICTURES[kind]))


def edges():
    orders = [(1, 0, 3), (0, 1, 3), (1, 1, 3), (2, 0, 5), (0, 1, 7), (1, 0, 1), (0, 2, 1)]
    cases("sobel", [lambda x, o=o: cv2.Sobel(x, cv2.CV_32F, o[0], o[1], ksize=o[2]) for o in orders])
    cases("scharr", [lambda x: cv2.Scharr(x, cv2.CV_32F, 1, 0, scale=0.5), lambda x: cv2.Scharr(x, cv2.CV_32F, 0, 1)])
    cases("laplacian", [lambda x, s=s: cv2.Laplacian(x, cv2.CV_32F, ksize=s) for s in (1, 3, 5)])
    picture = np.rint(smooth((1, 1, 41, 53), 0, 255)).astype(np.uint8)
    cv2.circle(picture[0, 0], (25, 20), 12, 255, 2)
    cv2.line(picture[0, 0], (0, 40), (52, 3), 20, 3)
    keep("canny.picture", picture)
    for i, (low, high, size, squares) in enumerate(
            [(50, 100, 3, False), (100, 300, 3, True), (900, 2500, 5, False), (120, 400, 3, False)]):
        edge = cv2.Canny(picture[0, 0], low, high, apertureSize=size, L2gradient=squares)
        keep(f"canny.{i}", (edge > 0)[None, None])


def elements():
    for rows, columns in [(3, 3), (5, 5), (5, 7), (9, 5), (4, 6), (7, 2)]:
        for shape, name in ((cv2.MORPH_RECT, "rectangle"), (cv2.MORPH_CROSS, "cross"), (cv2.MORPH_ELLIPSE, "ellipse")):
            keep(f"element.{name}.{rows}x{columns}", cv2.getStructuringElement(shape, (columns, rows)))


def without_end(x):
    """Where no neighbour lies in the picture, OpenCV has the least finite number."""
    return x if x.dtype == np.uint8 else np.where(x == np.finfo(np.float32).min, np.float32(-np.inf), x)


def morphology():
    own = np.array([[1, 0, 0, 1], [0, 1, 1, 0]], np.uint8)
    rectangle = cv2.getStructuringElement(cv2.MORPH_RECT, (5, 3))
    cross = cv2.getStructuringElement(cv2.MORPH_CROSS, (3, 3))
    ellipse = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (7, 5))
    large = cv2.getStructuringElement(cv2.MORPH_RECT, (25, 19))
    cases("morphology", [
        lambda x: cv2.erode(x, rectangle), lambda x: cv2.dilate(x, rectangle),
        lambda x: cv2.erode(x, cross, iterations=2), lambda x: cv2.dilate(x, ellipse),
        lambda x: cv2.erode(x, own), lambda x: without_end(cv2.dilate(x, own, anchor=(0, 1))),
        lambda x: cv2.erode(x, ellipse, borderType=cv2.BORDER_REFLECT),
        lambda x: cv2.dilate(x, cross, borderType=cv2.BORDER_CONSTANT, borderValue=200),
        lambda x: cv2.erode(x, large),
        lambda x: cv2.morphologyEx(x, cv2.MORPH_OPEN, cross), lambda x: cv2.morphologyEx(x, cv2.MORPH_CLOSE, ellipse),
        lambda x: cv2.morphologyEx(x, cv2.MORPH_GRADIENT, rectangle),
        lambda x: cv2.morphologyEx(x, cv2.MORPH_TOPHAT, cross), lambda x: cv2.morphologyEx(x, cv2.MORPH_BLACKHAT, cross)])


def histograms():
    keep("histogram.bytes", each(lambda x: cv2.calcHist([x], [0], None, [256], [0, 256]).ravel().astype(np.int64), BYTES))
    keep("histogram.floats", each(lambda x: cv2.calcHist([x], [0], None, [10], [-0.25, 1.0]).ravel().astype(np.int64), FLOATS))
    keep("equalized", each(cv2.equalizeHist, BYTES))
    kinds = [cv2.THRESH_BINARY, cv2.THRESH_BINARY_INV, cv2.THRESH_TRUNC, cv2.THRESH_TOZERO, cv2.THRESH_TOZERO_INV]
    for i, kind in enumerate(kinds):
        keep(f"threshold.bytes.{i}", each(lambda x: cv2.threshold(x, 99.7, 200, kind)[1], BYTES))
        keep(f"threshold.floats.{i}", each(lambda x: cv2.threshold(x, 0.4, 2, kind)[1], FLOATS))
    keep("otsu", each(lambda x: np.float64(cv2.threshold(x, 0, 255, cv2.THRESH_BINARY | cv2.THRESH_OTSU)[0]), BYTES))


def colours():
    spaces = {"grey": (cv2.COLOR_RGB2GRAY, None), "hsv": (cv2.COLOR_RGB2HSV, cv2.COLOR_HSV2RGB),
              "hls": (cv2.COLOR_RGB2HLS, cv2.COLOR_HLS2RGB), "ycbcr": (cv2.COLOR_RGB2YCrCb, cv2.COLOR_YCrCb2RGB),
              "lab": (cv2.COLOR_RGB2Lab, cv2.COLOR_Lab2RGB)}
    raw = RANDOM.integers(0, 256, (1, 3, 24, 31), dtype=np.uint8)
    raw[0, :, :4] = RANDOM.integers(0, 256, (1, 4, 31))  # greys
    raw[0, :, 0, :2] = [[0, 255]] * 3
    for kind, pictures in (("bytes", raw), ("floats", (raw / np.float32(255)).astype(np.float32))):
        keep(f"colours.{kind}", pictures)
        for name, (there, back) in spaces.items():
            converted = whole(lambda x: cv2.cvtColor(x, there), pictures)
            swapped = converted[:, [0, 2, 1]] if name == "ycbcr" else converted  # Cb before Cr
            keep(f"colours.{kind}.{name}", swapped)
            if back is not None:
                keep(f"colours.{kind}.{name}.back", whole(lambda x: cv2.cvtColor(x, back), converted))


MATRIX = np.array([[0.8, -0.45, 4.1], [0.35, 0.9, -2.3]])
PERSPECTIVE = np.array([[0.8, -0.45, 4.1], [0.35, 0.9, -2.3], [0.004, -0.006, 1]])


def warps():
    modes = [cv2.INTER_NEAREST, cv2.INTER_LINEAR, cv2.INTER_CUBIC]
    keep("warp.matrix", np.vstack([MATRIX, [0, 0, 1]]))
    keep("warp.perspective", PERSPECTIVE)
    cases("warp", [lambda x, b=b: cv2.warpAffine(x, MATRIX, (19, 11), flags=cv2.INTER_LINEAR, borderMode=b, borderValue=7)
                   for b in BORDERS]
          + [lambda x, m=m: cv2.warpAffine(x, MATRIX, (17, 13), flags=m, borderMode=cv2.BORDER_REPLICATE) for m in modes]
          + [lambda x: cv2.warpPerspective(x, PERSPECTIVE, (17, 13), flags=cv2.INTER_LINEAR)])
    sizes = [(26, 31, cv2.INTER_LINEAR), (7, 9, cv2.INTER_LINEAR), (26, 34, cv2.INTER_NEAREST), (20, 25, cv2.INTER_CUBIC)]
    cases("resize", [lambda x, s=s: cv2.resize(x, (s[1], s[0]), interpolation=s[2]) for s in sizes])
    even = {"bytes": BYTES[:, :, :12, :16], "floats": FLOATS[:, :, :12, :16]}
    for kind, pictures in even.items():
        keep(f"resize.{kind}.area", each(lambda x: cv2.resize(x, (4, 6), interpolation=cv2.INTER_AREA), pictures))
    keep("warp.rotation", cv2.getRotationMatrix2D((7.5, 4), 33, 1.25))
    corners = np.array([[[1, 2], [9, 1], [11, 8], [0, 7]], [[0, 0], [8, 2], [7, 9], [1, 6]]], np.float32)
    keep("warp.corners", corners)
    keep("warp.of_corners", cv2.getPerspectiveTransform(corners[0], corners[1]))


def renumbered(labels):
    """Numbers in the order of first pixels; and the old number of each."""
    old = [label for label in dict.fromkeys(labels.ravel()) if label]
    table = np.zeros(labels.max() + 1, np.int64)
    table[old] = np.arange(1, len(old) + 1)
    return table[labels], [0, *old]


def components():
    masks = (smooth((2, 1, 23, 29), 0, 1) > 0.55).astype(np.uint8)
    keep("components.masks", masks)
    for connectivity in (4, 8):
        results = []
        for mask in masks[:, 0]:
            _, labels, statistics, middles = cv2.connectedComponentsWithStats(mask, connectivity=connectivity)
            numbers, old = renumbered(labels)
            results.append((numbers, statistics[old].astype(np.int64), middles[old]))
        keep(f"components.{connectivity}.labels", np.stack([labels for labels, _, _ in results])[:, None])
        for i, (_, statistics, middles) in enumerate(results):
            keep(f"components.{connectivity}.statistics.{i}", statistics)
            keep(f"components.{connectivity}.middles.{i}", middles)


def suppression():
    count = 120
    corner, size = RANDOM.integers(0, 80, (count, 2)), RANDOM.integers(5, 40, (count, 2))
    boxes, scores = np.concatenate([corner, size], 1), RANDOM.permutation(count).astype(np.float32) / count
    kinds = RANDOM.integers(0, 3, count)
    keep("nms.boxes", boxes.astype(np.float32))  # x, y, width, height
    keep("nms.scores", scores)
    keep("nms.kinds", kinds)
    keep("nms.kept", np.array(cv2.dnn.NMSBoxes(boxes.tolist(), scores.tolist(), 0.1, 0.35)).astype(np.int64))
    keep("nms.kept_by_kind", np.array(
        cv2.dnn.NMSBoxesBatched(boxes.tolist(), scores.tolist(), kinds.tolist(), 0.1, 0.35)).astype(np.int64))
    for i, method in enumerate([cv2.dnn.SoftNMSMethod_SOFTNMS_LINEAR, cv2.dnn.SoftNMSMethod_SOFTNMS_GAUSSIAN]):
        fallen, kept = cv2.dnn.softNMSBoxes(boxes.tolist(), scores.tolist(), 0.21, 0.3, 0, 0.5, method)
        keep(f"nms.soft.{i}", np.array(kept).reshape(-1).astype(np.int64))
        keep(f"nms.soft.{i}.scores", np.array(fallen).reshape(-1).astype(np.float32))


for group in (borders, filters, edges, elements, morphology, histograms, colours, warps, components, suppression):
    group()
save_file(FIGURES, sys.argv[1])
print(len(FIGURES), "tensors of OpenCV", cv2.__version__)
