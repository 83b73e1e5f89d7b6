"""Runs a script by a Python that has certain packages: python_with.py FOLDER PACKAGES SCRIPT [ARGUMENT...]

It is that of the environment's KILN_PEERS_PYTHON, or the one that runs this, or one in FOLDER, which is made by pip on
first use; PyTorch, which is gigabytes, is never installed. PACKAGES have commas between them. Exits with 77, which ctest
shows as skipped, and says why, where there is none."""
import fcntl
import os
import pathlib
import subprocess
import sys

SKIPPED = 77
LARGE = {"torch", "torchvision"}
MODULES = {"pillow": "PIL", "mlflow-skinny": "mlflow"}  # of packages whose names are not their modules'


def lacks(python, packages):
    """Why the Python will not do; None where it will."""
    try:
        done = subprocess.run([python, "-c", "; ".join(f"import {MODULES.get(name, name)}" for name in packages)], capture_output=True, text=True)
    except OSError as error:
        return str(error)
    return (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1] if done.returncode else None


def installed(folder, packages):
    """A Python with the packages in `folder`, whoever else asks for it at the same time. Throws CalledProcessError."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        python = folder / "bin" / "python"
        if lacks(python, packages):
            run = lambda *command: subprocess.run(command, check=True, capture_output=True, text=True)
            run(sys.executable, "-m", "venv", folder)
            run(python, "-m", "pip", "install", "--quiet", *packages)
    return python


def chosen(folder, packages):
    peers = os.environ.get("KILN_PEERS_PYTHON")
    for python in filter(None, (peers, sys.executable)):
        why = lacks(python, packages)
        if not why:
            return python
        print(f"{python}: {why}")
    if LARGE & set(packages):
        print("skipped: name a Python that has", ", ".join(packages), "as KILN_PEERS_PYTHON")
        sys.exit(SKIPPED)
    try:
        return installed(folder, packages)
    except subprocess.CalledProcessError as error:
        print("skipped:", (error.stderr.strip().splitlines() or ["no such package"])[-1])
        sys.exit(SKIPPED)


if __name__ == "__main__":
    python = chosen(pathlib.Path(sys.argv[1]), sys.argv[2].split(","))
    sys.stdout.flush()
    os.execv(python, [str(python), "-B", *sys.argv[3:]])
