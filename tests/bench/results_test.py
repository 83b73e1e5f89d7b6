"""Tries bench/results.py: results_test.py FOLDER_OF_BENCH"""
import datetime
import json
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

sys.path.insert(0, sys.argv[1])
import results

SVG = "{http://www.w3.org/2000/svg}"


def run_of(ms, processor="A & B <fast>", day=1, **changes):
    found = {"machine": {"processor": processor, "device": "cpu", "cores": 2, "threads": 2, "copy_gb_s": 10.5,
                         "fma_gflop_s": 100.0, "handoff_ns": 3, **changes},
             "workloads": [{"name": name, "ms": value, "spread": 0.1} for name, value in ms.items()]}
    return found, datetime.datetime(2026, 1, day, 12, tzinfo=datetime.timezone.utc)


def refused(*arguments):
    done = subprocess.run([sys.executable, pathlib.Path(sys.argv[1]) / "results.py", *arguments], capture_output=True, text=True)
    assert done.returncode == 1 and "Traceback" not in done.stderr, done
    return done.stderr


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name) / "results"
    for day, value in enumerate((4.0, 2.0, 1.0), 1):
        found, now = run_of({"add": value, "sum(last dim)": 1.23456789}, day=day)
        path = results.keep(found, False, folder, now)
        assert path.name == f"2026-01-0{day}T120000Z-a-b-fast-cpu-2.json", path
    found, now = run_of({"add": 8.0}, processor="Other", day=3)
    results.keep(found, True, folder, now)
    try:
        results.keep(found, True, folder, now)
        raise AssertionError("a result was overwritten")
    except FileExistsError:
        pass
    kept = json.loads(path.read_text())
    assert kept["ms"] == {"add": 1.0, "sum(last dim)": 1.235} and kept["date"] == "2026-01-03T12:00:00Z", kept

    out = folder.parent / "out.svg"
    subprocess.run([sys.executable, pathlib.Path(sys.argv[1]) / "results.py", "--folder", folder, "--out", out], check=True,
                   stdout=subprocess.DEVNULL)
    root = xml.fromstring(out.read_text())
    lines = root.findall(f"{SVG}polyline")
    assert len(lines) == 3, len(lines)  # two machines have "add", one has the sum
    points = [tuple(map(float, point.split(","))) for point in lines[0].get("points").split()]
    # Equal factors are equal distances, downwards as times fall, and days are equally far apart.
    assert len(points) == 3 and abs((points[1][1] - points[0][1]) - (points[2][1] - points[1][1])) < 0.11, points
    assert points[0][1] < points[1][1] and abs(points[2][0] - 2 * points[1][0] + points[0][0]) < 0.11, points
    texts = [text.text for text in root.findall(f"{SVG}text")]
    assert "A & B <fast>, cpu, 2 threads, clock" in texts and "Other, cpu, 2 threads, processor time" in texts, texts
    subprocess.run([sys.executable, pathlib.Path(sys.argv[1]) / "results.py", "--folder", folder, "--out", out, "--only",
                    "sum,none"], check=True, stdout=subprocess.DEVNULL)
    assert len(xml.fromstring(out.read_text()).findall(f"{SVG}polyline")) == 1
    assert "no results" in refused("--folder", str(folder), "--out", str(out), "--only", "none")
    for wrong in ("{", "{}", '{"date": "2026-01-03T12:00:00Z", "machine": {"processor": "a", "device": "cpu", "threads": 1, '
                  '"clock": "clock"}, "ms": {"add": 0}}'):
        (folder / "wrong.json").write_text(wrong)
        assert "wrong.json: is no result of the suite" in refused("--folder", str(folder), "--out", str(out))
