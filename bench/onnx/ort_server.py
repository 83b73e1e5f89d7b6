#!/usr/bin/env python3
"""ONNX Runtime's side of the suite: ort_server.py MODEL DIRECTORY THREADS. Answers each line of standard input:

SECONDS      runs the network for about so long; the samples' wall clock and processor time, in ms
save FOLDER  writes each output as an .npy file

Nothing is copied in or out: inputs and outputs are bound."""

import json
import pathlib
import sys
import time

import numpy
import onnxruntime

FEWEST, MOST = 3, 2000  # samples of a burst


def main():
    model, directory, threads = sys.argv[1:]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = int(threads), 1
    options.log_severity_level = 3
    began = time.perf_counter()
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    loaded = time.perf_counter() - began
    binding = session.io_binding()
    names = [each.name for each in session.get_outputs()]
    inputs = []
    for place, path in zip(session.get_inputs(), sorted(pathlib.Path(directory).glob("*.npy"))):
        inputs.append(onnxruntime.OrtValue.ortvalue_from_numpy(numpy.load(path)))
        binding.bind_ortvalue_input(place.name, inputs[-1])

    def run():
        binding.clear_binding_outputs()
        for name in names:
            binding.bind_output(name)
        session.run_with_iobinding(binding)

    for _ in range(3):
        run()
    for line in sys.stdin:
        if line.startswith("save "):
            folder = pathlib.Path(line[5:].strip())
            for i, value in enumerate(binding.get_outputs()):
                numpy.save(folder / f"{i:03}.npy", value.numpy())
            print(json.dumps({"saved": len(names)}), flush=True)
            continue
        run()
        samples, end = [], time.perf_counter() + float(line)
        while len(samples) < FEWEST or (time.perf_counter() < end and len(samples) < MOST):
            wall, cpu = time.perf_counter(), time.process_time()
            run()
            samples.append([1e3 * (time.perf_counter() - wall), 1e3 * (time.process_time() - cpu)])
        print(json.dumps({"load_ms": 1e3 * loaded, "samples": samples}), flush=True)


if __name__ == "__main__":
    main()
