#!/usr/bin/env python3
"""Tries what README, the book, docs/ and help texts tell a reader to type:

- commands of `kiln` and of shells that need no network run in a scratch folder that has the files they name (FILES);
- those of examples, and of `kiln` where they never end, are read by the program's own parser: an option that no program has stands
  behind them, and must be all that the program complains about, so that nothing is trained or fetched;
- each option in a program's --help is given its default, or the first of its choices, in the same way;
- all others stand in REASONS. A command that is in none of these is an error.

    tools/console.py FOLDER        the folder with `kiln` and the examples, such as build/release/bin"""
import json
import os
import pathlib
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile

import book_links

ROOT = book_links.ROOT
NONE = "--no-program-has-this"
SECONDS = 60

# First words of commands that are not tried here, and why.
REASONS = {
    "./dev": "takes minutes; book_links.py compares the name of the command",
    "./my_program": "is the reader's program", "./program": "is the reader's program",
    "build/prices": "is what tests/install builds", "build/serve_model/serve_model": "is the example of the line above", "build/sine": "is what the page's program is",
    "build/release/tests/backend/libtorch/test_ops_libtorch": "needs libtorch",
    "build/asan/tests/fuzz/fuzz": "needs a build with sanitizers",
    "cmake": "configures or builds: tests/install does it", "cpack": "packs: ./dev check packages does it",
    "apt": "installs packages", "cd": "goes into a folder that an earlier command made",
    "curl": "talks to a server: tests/examples/serving.cpp does", "ssh": "needs another machine",
    "mpirun": "starts ranks: tests/train/ranks_test.cpp does", "srun": "needs a cluster", "torchrun": "needs PyTorch",
    "tensorboard": "is TensorBoard", "mlflow": "is MLflow",
    "ctest": "runs the tests that this is one of", "git": "needs the reader's repository", "pip": "installs packages",
}
# Commands of kiln that are read only, and why.
READ_ONLY = {
    "host": "serves until it is ended", "--web": "serves until it is ended",
    "compile": "needs a captured graph: tests/compile runs it", "onnx test": "needs the standard's tests",
    "onnx": "needs a network: tests/cli runs it", "run": "needs a network: tests/cli runs it",
    "import": "needs a network: tests/cli runs it",
}
SHELL = ("openssl", "echo", "export", "eval")


# `--batch INTEGER  (64)` of configs, `--epochs INT:INT in [1 - 9]=10` of CLI11.
DEFAULT = re.compile(r"""^\s+(?:-\w,)?(--[\w.-]+)(?:,\S+)? [^\s=]+(?: in \[[^\]]*\])?(?:  \((?!null)(.+)\)$|=(\S+)(?:$|\s{2,}))""", re.MULTILINE)


def safetensors(path, under=""):
    """Two tensors of float32."""
    header, data = {}, b""
    for name, shape in ((f"{under}fc.weight", [32, 32]), (f"{under}fc.bias", [32])):
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + 4 * count]}
        data += struct.pack(f"<{count}f", *(i / count for i in range(count)))
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def runs(folder):
    """A folder of one run, as RunDirectory writes it."""
    for split in ("train", "valid"):
        (folder / "first" / split / "epoch-1").mkdir(parents=True)
        (folder / "first" / split / "epoch-1/loss.log").write_text("10 0.5\n20 0.25\n")
    (folder / "first/experiment.log").write_text("2026-11-23 01:16:00 ends after step 20: all 2 epochs are done\n")
    (folder / "first/config.json").write_text('{"rate": 0.1}')


def prepare(kiln, folder, words):
    """The files that a command reads, as far as they are no results of its own."""
    read = words[2:3] if words[1:2] == ["convert"] else words[2:]
    for name in read:
        path = folder / name
        if path.exists() or name.startswith("-"):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if name == "runs":
            runs(path)
        elif name.endswith(".safetensors"):
            safetensors(path)
        elif name.endswith((".pt", ".gguf")):
            safetensors(folder / "made.safetensors", "state_dict.module." if name.endswith(".pt") else "")
            subprocess.run([kiln, "convert", "made.safetensors", name], cwd=folder, capture_output=True, check=True)
        elif name.endswith(".json"):
            path.write_text('{"Cosine": {"peak": 0.1, "steps": 100}}')


def plain(text):
    """A command without what stands for others: [--option] is given, A|B is A, N is a number, and ... is left out."""
    text = re.sub(r"\s\.\.\.(?=\s|$)|\s\.\.\.;.*", "", text.replace("[", " ").replace("]", " "))
    return re.sub(r"(?<=[\w])\|[\w|]+", "", re.sub(r"\b(N|PORT|COUNT|SECONDS)\b", "1", text))


def shown_commands():
    """(place, command, whether it is whole) of each line that a page shows as one, and of parts that sentences name."""
    starts = re.compile(r"^(\$ |([A-Z_]+=\S* +)*(kiln|\./dev|cmake|openssl|echo|export|eval|build/\S+|\./\S+) )")
    for page in book_links.pages():
        for number, line, language in book_links.lines_of(page):
            if language == "console" and line.startswith("$ "):
                yield f"{book_links.shown(page)}:{number}", line[2:], True
            elif language in ("none", "sh", "bash") and starts.match(line):
                yield f"{book_links.shown(page)}:{number}", re.split(r"\s{2,}", line.strip())[0], True
            elif not language:
                for code in book_links.CODE.findall(line):
                    if re.match(r"(kiln [a-z]|\./dev run [a-z])", code.strip("`")):
                        yield f"{book_links.shown(page)}:{number}", code.strip("`"), False


def run(command, folder, **more):
    own = {name: value for name, value in os.environ.items() if not name.startswith("KILN_")}
    environment = {**own, "HOME": str(folder), "http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    try:
        return subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=SECONDS, check=False, **more)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, f"it did not end within {SECONDS} seconds")


def refused(program, words, folder):
    """What a program has against these words, by its own parser. Words that must be there and are not are put in."""
    said = run([program, *words, NONE], folder).stdout.strip()
    for _ in range(3):
        if missing := re.match(r"(\S+) is required\n", said):
            words = [*words, *([missing[1], "x"] if missing[1].startswith("-") else ["x"])]
            said = run([program, *words, NONE], folder).stdout.strip()
    if re.match(rf"The following argument was not expected: {NONE}\n", said + "\n"):
        return ""
    if re.search(rf"unknown option '{NONE}'|does not take '{NONE}'", said):
        return ""
    return said.split("\n")[0] or f"{pathlib.Path(program).name} takes {NONE}"


class Programs:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        self.kiln = self.folder / "kiln"
        self.scratch = pathlib.Path(tempfile.mkdtemp())

    def place(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.scratch))
        (folder / "folder").mkdir()
        (folder / "examples").symlink_to(ROOT / "examples")  # readers are in Kiln's folder
        return folder

    def tried(self, command, whole):
        """What is wrong with one simple command, or nothing."""
        command = re.sub(r"^([A-Z_]+=\S*\s+)+", "", command.strip())
        words = shlex.split(plain(command), comments=True)
        if not words:
            return ""
        if words[0] == "kiln":
            return self.tried_kiln(words, whole)
        if words[:2] == ["./dev", "run"]:
            return self.tried_example(words[2], words[3:])
        if words[0] in SHELL:
            return ""  # see tried_block()
        return "" if words[0] in REASONS else f"'{words[0]}' is in none of the lists of tools/console.py"

    def tried_kiln(self, words, whole):
        if not whole and words[-1].startswith("--"):  # its value is left out
            if not re.search(rf"[ ,]{words[-1]}[ ,\n]", run([self.kiln, words[1], "--help"], self.place()).stdout):
                return f"kiln {words[1]} has no {words[-1]}"
            words = words[:-1]
        if not whole or any(word.isupper() for word in words[2:]) or any(word in READ_ONLY for word in (*words[1:2], *words[2:], " ".join(words[1:3]))):
            return refused(self.kiln, words[1:], self.place())
        folder = self.place()
        prepare(self.kiln, folder, words)
        done = run([self.kiln, *words[1:]], folder)
        allowed = (0, 1) if words[1] == "diff" else (0,)
        return "" if done.returncode in allowed else f"status {done.returncode}: {done.stdout.strip()}"

    def tried_example(self, name, words):
        if not (ROOT / "examples" / name).is_dir():
            return f"there is no example '{name}'"
        program = self.folder / name
        if not program.exists():
            return ""
        return refused(program, words, self.place())

    def tried_helps(self, program):
        """What is wrong with a program's help: (what it shows, why)."""
        help_of = lambda *words: run([program, *words, "--help"], self.place()).stdout
        text, name = help_of(), program.name
        subcommands = re.findall(r"^  ([a-z-]+) {3,}", text.split("Subcommands:")[1], re.MULTILINE) if "Subcommands:" in text else []
        for words in [[], *([word] for word in subcommands)]:
            said = help_of(*words) if words else text
            for option, quoted, plain_value in DEFAULT.findall(said):
                value = quoted.strip('"') or plain_value
                yield f"{name} {' '.join(words)} --help: {option} {value}", refused(program, [*words, option, value], self.place())
        for line in re.findall(rf"^  ((?:\./dev run )?{name}\b[^\n]*)$", text, re.MULTILINE):
            words = shlex.split(plain(re.split(r"\s{3,}", line)[0]), comments=True)
            words = words[3:] if words[0] == "./dev" else words[1:]
            yield f"{name} --help: {line}", refused(program, words, self.place())


def simple(command):
    """The simple commands of a line, none of which has a separator in quotes."""
    return [part for part in re.split(r"\s(?:&&|\|\||;|\|)\s", re.sub(r"\s#\s.*", "", command)) if part.strip()]


def tried_shells(programs):
    """Runs of openssl and other commands of shells, those of a page in one folder and in their order."""
    pages = {}
    for place, command, _ in shown_commands():
        if shlex.split(command, comments=True)[:1] and shlex.split(command, comments=True)[0] in SHELL:
            pages.setdefault(place.split(":")[0], []).append((place, command))
    for commands in pages.values():
        folder = programs.place()
        for place, command in commands:
            if "openssl" in command and not shutil.which("openssl"):
                continue
            done = run(["bash", "-c", f'PATH="{programs.folder}:$PATH"; {command}'], folder)
            yield place, command, "" if done.returncode == 0 else f"status {done.returncode}: {done.stdout.strip()}"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    programs, wrong, count = Programs(sys.argv[1]), [], 0
    try:
        for place, command, whole in shown_commands():
            for part in simple(command):
                count += 1
                if said := programs.tried(part, whole):
                    wrong.append(f"{place}: {part}\n  {said}")
        for place, command, said in tried_shells(programs):
            if said:
                wrong.append(f"{place}: {command}\n  {said}")
        for program in sorted(programs.folder.iterdir()):
            if program.name == "kiln" or (ROOT / "examples" / program.name).is_dir():
                for shown, said in programs.tried_helps(program):
                    count += 1
                    if said:
                        wrong.append(f"{shown}\n  {said}")
    finally:
        shutil.rmtree(programs.scratch)
    print("\n".join(wrong))
    print(f"{count} commands, {len(wrong)} refused")
    sys.exit(1 if wrong or count < 200 else 0)


if __name__ == "__main__":
    main()
