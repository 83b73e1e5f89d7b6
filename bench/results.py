#!/usr/bin/env python3
"""Results of the benchmark suite over time: bench/results.py [--only WORDS] [--out FILE.svg]

`./dev bench --keep` writes a file for each run to bench/results: its date, its machine, and the median of each workload.
This draws them, a panel for each workload and a line for each machine, with nothing but Python's own library."""
import argparse
import datetime
import html
import json
import math
import pathlib
import re
import sys

FOLDER = pathlib.Path(__file__).resolve().parent / "results"
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#8c564b", "#e377c2", "#17becf", "#7f7f7f")
WIDTH, HEIGHT, MARGIN, COLUMNS = 300, 130, 36, 3


def slug(words):
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")


def kept(found, busy, now):
    """What is kept of a run: one that the machine's other work cannot have disturbed says so."""
    machine = found["machine"]
    return {"date": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "machine": {"processor": machine["processor"], "device": machine["device"], "cores": machine["cores"],
                        "threads": machine["threads"], "clock": "processor time" if busy else "clock",
                        "copy_gb_s": machine["copy_gb_s"], "fma_gflop_s": machine["fma_gflop_s"]},
            "ms": {entry["name"]: float(f"{entry['ms']:.4g}") for entry in found["workloads"]}}


def keep(found, busy, folder=FOLDER, now=None):
    """Writes the file, whose name no other run has, and returns its path."""
    result = kept(found, busy, now or datetime.datetime.now(datetime.timezone.utc))
    machine = result["machine"]
    stem = f"{result['date'].replace(':', '')}-{slug(machine['processor'])}-{slug(machine['device'])}-{machine['threads']}"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{stem}.json"
    text = "{" + ",\n".join(f'"{key}": {json.dumps(result[key])}' for key in ("date", "machine"))
    rows = ",\n".join(f"  {json.dumps(name)}: {value}" for name, value in result["ms"].items())
    with open(path, "x") as file:
        file.write(f'{text},\n"ms": {{\n{rows}\n}}}}\n')
    return path


def read(folder):
    """All results, the oldest first. A file that is none of them is an error that names it."""
    results = []
    for path in sorted(folder.glob("*.json")):
        try:
            result = json.loads(path.read_text())
            result["time"] = datetime.datetime.strptime(result["date"], "%Y-%m-%dT%H:%M:%SZ").timestamp()
            machine = result["machine"]
            result["line"] = (f"{machine['processor']}, {machine['device']}, {machine['threads']} threads, "
                              f"{machine['clock']}")
            if not all(isinstance(ms, (int, float)) and ms > 0 for ms in result["ms"].values()):
                raise ValueError("a time is no positive number")
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            sys.exit(f"{path}: is no result of the suite: {error!r}")
        results.append(result)
    return sorted(results, key=lambda result: result["time"])


def series(results, words):
    """{workload: {line: [(time, ms), ...]}} of those that have one of the words in their name."""
    found = {}
    for result in results:
        for name, ms in result["ms"].items():
            if not words or any(word in name for word in words):
                found.setdefault(name, {}).setdefault(result["line"], []).append((result["time"], ms))
    return found


def number(ms):
    return f"{ms:.3g}"


def panel(name, lines, colours, span, x, y):
    """One workload: time from left to right, milliseconds upwards, in a logarithmic scale from the least to the most."""
    values = [ms for points in lines.values() for _, ms in points]
    low, high = math.log(min(values)), math.log(max(values))
    if high - low < math.log(1.2):  # what differs by less than a fifth is not blown up to the whole height
        middle = (low + high) / 2
        low, high = middle - math.log(1.1), middle + math.log(1.1)
    inner_width, inner_height = WIDTH - MARGIN - 12, HEIGHT - 40

    def place(time, ms):
        across = (time - span[0]) / (span[1] - span[0]) if span[1] > span[0] else 0.5
        return (x + MARGIN + across * inner_width, y + 22 + (high - math.log(ms)) / (high - low) * inner_height)

    yield f'<text x="{x + 4}" y="{y + 14}" class="name">{html.escape(name)}</text>'
    yield f'<rect x="{x + MARGIN}" y="{y + 22}" width="{inner_width}" height="{inner_height}" class="frame"/>'
    for ms, down in ((math.exp(high), 0), (math.exp(low), inner_height)):
        yield f'<text x="{x + MARGIN - 3}" y="{y + 26 + down}" class="axis" text-anchor="end">{number(ms)}</text>'
    for line, points in lines.items():
        places = [place(*point) for point in points]
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in places)
        yield f'<polyline points="{path}" fill="none" stroke="{colours[line]}"/>'
        for (px, py), (time, ms) in zip(places, points):
            date = datetime.datetime.fromtimestamp(time).strftime("%Y-%m-%d")
            yield (f'<circle cx="{px:.1f}" cy="{py:.1f}" r="2" fill="{colours[line]}"><title>{date}: {number(ms)} ms'
                   "</title></circle>")


def drawn(results, words=()):
    """An SVG of all workloads."""
    found = series(results, words)
    if not found:
        sys.exit("no results: run ./dev bench --keep, or choose other words")
    lines = sorted({line for of_workload in found.values() for line in of_workload})
    colours = {line: COLOURS[i % len(COLOURS)] for i, line in enumerate(lines)}
    times = [time for of_workload in found.values() for points in of_workload.values() for time, _ in points]
    span, top = (min(times), max(times)), 24 + 16 * len(lines)
    width, height = COLUMNS * WIDTH, top + math.ceil(len(found) / COLUMNS) * HEIGHT
    dates = " to ".join(datetime.datetime.fromtimestamp(time).strftime("%Y-%m-%d") for time in span)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
           "<style>text{font:11px sans-serif}.name{font-weight:bold}.axis{font-size:9px}.frame{fill:none;stroke:#ccc}</style>",
           f'<rect width="{width}" height="{height}" fill="white"/>', f'<text x="4" y="14">ms, {dates}</text>']
    for i, line in enumerate(lines):
        out.append(f'<text x="4" y="{30 + 16 * i}" fill="{colours[line]}">{html.escape(line)}</text>')
    for i, (name, of_workload) in enumerate(sorted(found.items())):
        out += panel(name, of_workload, colours, span, i % COLUMNS * WIDTH, top + i // COLUMNS * HEIGHT)
    return "\n".join(out) + "\n</svg>\n"


def main():
    parser = argparse.ArgumentParser(prog="bench/results.py", description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", default="", metavar="WORDS", help="workloads with one of these words; commas between")
    parser.add_argument("--folder", type=pathlib.Path, default=FOLDER)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("bench.svg"), metavar="FILE")
    options = parser.parse_args()
    options.out.write_text(drawn(read(options.folder), [word for word in options.only.split(",") if word]))
    print(options.out)


if __name__ == "__main__":
    main()
