#!/usr/bin/env python3
"""bench_vision beside OpenCV, function by function, on one thread each: opencv_vision.py PROGRAM [argument ...]. Needs
opencv-python-headless and numpy. A ratio above 1 says that Kiln is faster. With `--processor` both measure the
processor's time, for a machine that does other things as well."""
import math
import statistics
import subprocess
import sys
import time

import cv2
import numpy as np

cv2.setNumThreads(1)
ROUNDS = 9
CLOCK = time.process_time if "--processor" in sys.argv else time.perf_counter
RANDOM = np.random.default_rng(1)
KERNEL = RANDOM.uniform(-1, 1, (5, 5)).astype(np.float32)
TURN = cv2.getRotationMatrix2D((959.5, 539.5), 10, 1)


def element(shape, size):
    return cv2.getStructuringElement(shape, (size, size))


RECTANGLE, ELLIPSE, CROSS = element(cv2.MORPH_RECT, 5), element(cv2.MORPH_ELLIPSE, 9), element(cv2.MORPH_CROSS, 3)
WORK = {
    "grey": (3, lambda x: cv2.cvtColor(x, cv2.COLOR_RGB2GRAY)),
    "hsv": (3, lambda x: cv2.cvtColor(x, cv2.COLOR_RGB2HSV)),
    "ycbcr": (3, lambda x: cv2.cvtColor(x, cv2.COLOR_RGB2YCrCb)),
    "lab": (3, lambda x: cv2.cvtColor(x, cv2.COLOR_RGB2Lab)),
    "filter2d 5x5": (1, lambda x: cv2.filter2D(x, -1, KERNEL)),
    "box 5x5": (1, lambda x: cv2.blur(x, (5, 5))),
    "box 31x31": (1, lambda x: cv2.blur(x, (31, 31))),
    "gaussian 5x5": (1, lambda x: cv2.GaussianBlur(x, (5, 5), 0)),
    "gaussian 31x31": (1, lambda x: cv2.GaussianBlur(x, (31, 31), 0)),
    "median 3": (1, lambda x: cv2.medianBlur(x, 3)),
    "median 5": (1, lambda x: cv2.medianBlur(x, 5)),
    "bilateral 2": (1, lambda x: cv2.bilateralFilter(x, 5, 0.1, 2)),
    "sobel": (1, lambda x: cv2.Sobel(x, cv2.CV_32F, 1, 0)),
    "scharr": (1, lambda x: cv2.Scharr(x, cv2.CV_32F, 1, 0)),
    "laplacian": (1, lambda x: cv2.Laplacian(x, cv2.CV_32F)),
    "erode rectangle 5x5": (1, lambda x: cv2.erode(x, RECTANGLE)),
    "dilate ellipse 9x9": (1, lambda x: cv2.dilate(x, ELLIPSE)),
    "open cross 3x3": (1, lambda x: cv2.morphologyEx(x, cv2.MORPH_OPEN, CROSS)),
    "histogram": (1, lambda x: cv2.calcHist([x], [0], None, [256], [0, 1])),
    "threshold": (1, lambda x: cv2.threshold(x, 0.5, 1, cv2.THRESH_BINARY)),
    "warp linear": (1, lambda x: cv2.warpAffine(x, TURN, (1920, 1080))),
    "warp cubic": (1, lambda x: cv2.warpAffine(x, TURN, (1920, 1080), flags=cv2.INTER_CUBIC)),
    "resize half": (1, lambda x: cv2.resize(x, (960, 540))),
    "resize double": (1, lambda x: cv2.resize(x, (3840, 2160))),
    "flip": (1, lambda x: cv2.flip(x, 1)),
    "canny of bytes": (1, lambda x: cv2.Canny((x * 255).astype(np.uint8), 50, 100)),
    "components": (1, lambda x: cv2.connectedComponents((x > 0.6).astype(np.uint8))),
}


def milliseconds(channels, work):
    x = cv2.blur(RANDOM.uniform(0, 1, (1080, 1920, channels)).astype(np.float32), (3, 3))
    times = []
    for round in range(-2, ROUNDS):
        begin = CLOCK()
        work(x)
        if round >= 0:
            times.append(1e3 * (CLOCK() - begin))
    return statistics.median(times)


def main():
    lines = subprocess.run(sys.argv[1:], check=True, capture_output=True, text=True).stdout.splitlines()
    ratios = []
    print("| function | Kiln, ms | OpenCV, ms | ratio |\n|---|---|---|---|")
    for name, own in (line.split("\t") for line in lines):
        peer = milliseconds(*WORK[name])
        ratios.append(peer / float(own))
        print(f"| {name} | {float(own):.2f} | {peer:.2f} | {ratios[-1]:.2f} |", flush=True)
    print(f"geometric mean: {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}")


if __name__ == "__main__":
    main()
