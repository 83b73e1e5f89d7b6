"""What is measured of Kiln beside its workloads: how long programs take to compile and to start, and their size."""
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

import compile_time


def start_up_ms(program):
    """From its call to its end; the median of several."""
    times = []
    for _ in range(15):
        start = time.perf_counter()
        subprocess.run([program], check=True, stdout=subprocess.DEVNULL)
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def stripped_mib(program):
    with tempfile.TemporaryDirectory() as directory:
        copy = pathlib.Path(directory) / "program"
        subprocess.run(["strip", "-o", copy, program], check=True)
        return copy.stat().st_size / 2**20


def figures(programs):
    """(name, value, unit) of each that can be had; `programs` is the folder where they were built. Where they were packed
    for another machine there are no sources, and a small script starts each."""
    if not (compile_time.ROOT / "kiln").is_dir():
        return
    compiler = shutil.which("g++") or "c++"
    release = [compiler, "-std=c++20", f"-I{compile_time.ROOT}", *compile_time.MODES["release"]]
    model = compile_time.ROOT / "bench" / "models" / "gpt.cpp"
    yield "compile_model_file", compile_time.seconds([*release, "-c", model, "-o", "/dev/null"]), "s"
    yield "start_up", start_up_ms(programs / "bench_least"), "ms"
    yield "least_program", stripped_mib(programs / "bench_least"), "MiB"
