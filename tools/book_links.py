#!/usr/bin/env python3
"""Whether what the book and docs/ point at exists: links and anchors, pages in mkdocs.yml, answers to the questions, subcommands
of `kiln`, commands of ./dev, and environment variables and options of CMake. Prints what does not."""
import functools
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
QUESTIONS = 40
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\)")
CODE = re.compile(r"`[^`\n]+`")


def pages():
    """The book, docs/ and the pages of the root."""
    found = [*sorted((ROOT / "book").rglob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
    return found + [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "bench/README.md")]


def shown(path):
    return path.relative_to(ROOT).as_posix()


def lines_of(page):
    """(number, line, the language of the block that it stands in, or "")."""
    language, inside = "", False
    for number, line in enumerate(page.read_text().split("\n"), 1):
        if line.lstrip().startswith("```"):
            inside = not inside
            language = line.strip()[3:] or "none" if inside else ""
        else:
            yield number, line, language


@functools.cache
def anchors(page):
    """The names that headings of a page have on the site and on GitHub; these differ in runs of dashes."""
    found = set()
    for _, line, language in lines_of(page):
        match = re.match(r"#+ (.*)", line)
        if match and not language:
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match[1]).replace("`", "").lower()
            name = re.sub(r"[^\w\s-]", "", text).strip()
            found |= {re.sub(r"[-\s]+", "-", name), re.sub(r"\s", "-", name)}
        found.update(re.findall(r'<a (?:id|name)="([^"]+)"', line))
    return found


def wrong_links():
    for page in pages():
        for number, line, language in lines_of(page):
            for target in LINK.findall("" if language else CODE.sub("", line)):
                if re.match(r"[a-z]+:", target):
                    continue
                path, _, anchor = target.partition("#")
                there = (page.parent / path).resolve() if path else page
                if not there.exists():
                    yield f"{shown(page)}:{number}: there is no {target}"
                elif anchor and there.suffix == ".md" and anchor not in anchors(there):
                    yield f"{shown(page)}:{number}: {shown(there)} has no heading '{anchor}'"


def wrong_nav():
    """Each page of the book stands in mkdocs.yml once, and each page there exists."""
    listed = re.findall(r"^\s*-\s+(?:.*:\s+)?(\S+\.md)\s*$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    there = {path.relative_to(ROOT / "book").as_posix() for path in (ROOT / "book").rglob("*.md")}
    for name in listed:
        if name not in there:
            yield f"mkdocs.yml: there is no book/{name}"
        elif listed.count(name) > 1:
            yield f"mkdocs.yml: book/{name} stands there twice"
    for name in sorted(there - set(listed)):
        yield f"mkdocs.yml: book/{name} is not in nav, so that no reader finds it"


def wrong_questions():
    """`book/questions.md`, to which the index links, answers questions 1 to 40 by a link each."""
    if "(questions.md)" not in (ROOT / "book/index.md").read_text():
        yield "book/index.md: no link to questions.md"
    answered = {}
    for _, line, _ in lines_of(ROOT / "book/questions.md"):
        match = re.match(r"(\d+)\. ", line)
        if match:
            answered[int(match[1])] = [link for link in LINK.findall(line) if not re.match(r"[a-z]+:", link)]
    for number in range(1, QUESTIONS + 1):
        if not answered.get(number):
            yield f"book/questions.md: question {number} has no line with a link to a page"


def commands(page):
    """(number, words) of each command that a page names: after `$ ` in a ```console block, or as code in a sentence."""
    for number, line, language in lines_of(page):
        if language in ("console", "none", "sh", "bash"):
            texts = [line.removeprefix("$ ")] if language != "console" or line.startswith("$ ") else []
        else:
            texts = [] if language else [code.strip("`") for code in CODE.findall(line)]
        for text in texts:
            for part in re.split(r"&&|\|\||;|\|", text.split(" # ")[0]):
                words = re.sub(r"^(\s*[A-Z_]+=\S*)+", "", part).split()
                if words:
                    yield number, words


def wrong_commands():
    table = (ROOT / "cli/commands.cpp").read_text()
    subcommands = set(re.findall(r'^\s+\{"([a-z-]+)", "', table, re.MULTILINE)) | {"help"}
    helped = subprocess.run([ROOT / "dev", "help"], capture_output=True, text=True, check=True).stdout
    of_dev = set(re.findall(r"^\./dev ([a-z-]+)", helped, re.MULTILINE))
    for page in pages():
        for number, words in commands(page):
            second = words[1] if len(words) > 1 else ""
            if words[0] == "kiln" and re.fullmatch(r"[a-z][a-z-]*", second) and second not in subcommands:
                yield f"{shown(page)}:{number}: kiln has no subcommand '{second}'"
            if words[0] == "./dev" and re.fullmatch(r"[a-z][a-z-]*", second) and second not in of_dev:
                yield f"{shown(page)}:{number}: ./dev has no command '{second}'"


def wrong_variables():
    """What is called KILN_... stands in the sources, too."""
    found = subprocess.run(
        ["grep", "-rhoE", "--include=*.cpp", "--include=*.hpp", "--include=*.def", "--include=*.txt", "--include=*.cmake",
         "--include=*.in", "--include=*.py", "--include=*.sh", "--include=*.json", "--include=*.cu", "--include=*.js", r"\bKILN_[A-Z0-9_]+",
         *("kiln cli cmake tests models examples bench tools CMakeLists.txt CMakePresets.json dev packaging".split())],
        cwd=ROOT, capture_output=True, text=True, check=False).stdout
    known = set(found.split()) | set(re.findall(r"\bKILN_[A-Z0-9_]+", (ROOT / "dev").read_text()))
    for page in pages():
        for number, line, _ in lines_of(page):
            for name in re.findall(r"\bKILN_[A-Z0-9_]*[A-Z0-9]\b(?!_|\*)", line):
                if name not in known and name != "KILN_NAME" and not any(other.startswith(name + "_") for other in known):
                    yield f"{shown(page)}:{number}: nothing in the sources is called {name}"


def main():
    wrong = [*wrong_links(), *wrong_nav(), *wrong_questions(), *wrong_commands(), *wrong_variables()]
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
