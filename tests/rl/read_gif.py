"""Reads what gif_samples wrote with Pillow, and compares every pixel of every picture."""
import pathlib
import subprocess
import sys
import tempfile

from PIL import Image

with tempfile.TemporaryDirectory() as place:
    subprocess.run([sys.argv[1], place], check=True)
    files = sorted(pathlib.Path(place).glob("*.gif"))
    assert len(files) == 6, files
    for path in files:
        count, height, width, channels = map(int, path.with_suffix(".txt").read_text().split())
        expected = path.with_suffix(".bytes").read_bytes()
        colours = {expected[i:i + channels] for i in range(0, len(expected), channels)}
        step = 1 if len(colours) <= 256 else 51  # the palette of six steps
        with Image.open(path) as film:
            assert film.size == (width, height), film.size
            assert getattr(film, "n_frames", 1) == count, film.n_frames
            assert film.info["duration"] == 50, film.info
            size = height * width * channels
            for frame in range(count):
                film.seek(frame)
                read = film.convert("L" if channels == 1 else "RGB").tobytes()
                worst = max(abs(a - b) for a, b in zip(read, expected[frame * size:(frame + 1) * size]))
                assert worst <= (step // 2), f"{path.name}, picture {frame}: a pixel is off by {worst}"
