#!/usr/bin/env python3
"""Makes a program of each page of book/: the ```cpp blocks of a page, in order, are one program, and its ```text blocks what
that prints. tests/book compiles all pages into test_book; `alone` writes the program as a reader would copy it,
to be compiled by itself."""
import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMPILED_ONLY = "<!-- compiled only -->"
PAGE_COMPILED_ONLY = "<!-- page: compiled only -->"
FILE_SCOPE = re.compile(
    r"(#include|using|struct|class|enum|template|namespace|constexpr|inline|static|union|extern|#define)\b|TEST(_F|_P)?\(")
STATEMENT = re.compile(r"(return|if|else|for|while|switch|do|case|throw|co_\w+|delete|new|const auto \[|auto \[)\b")
# A type, a name, parameters and an open brace: the head of a function's definition.
FUNCTION_HEAD = re.compile(r"(\[\[\w+\]\]\s*)?[A-Za-z_][\w:<>,*&\s]*[\s*&>]~?[A-Za-z_]\w*\s*\((.*)\)\s*(const\s*)?(noexcept\s*)?(->\s*[\w:<>, *&]+)?$",
                           re.DOTALL)
MAIN = re.compile(r"^int main\(\) \{", re.MULTILINE)
TYPE = re.compile(r"^((?:template\s*<[^{;]*>\s*)?(?:struct|class|enum class|enum))\s+([A-Z]\w*)\b(?!\s*<)", re.MULTILINE)


class Wrong(Exception):
    """A page that does not keep the rules of the book, with its place."""


class Block:
    """One fenced block: its language, its lines, the line on which these begin, and the remark before it."""

    def __init__(self, language, line, lines, remark):
        self.language, self.line, self.lines, self.remark = language, line, lines, remark


def blocks_of(page):
    """The fenced blocks that stand at the beginning of a line, in order."""
    found, open_block, before = [], None, ""
    for number, line in enumerate(page.read_text().split("\n"), 1):
        if open_block:
            if line.rstrip() == "```":
                found.append(open_block)
                open_block, before = None, ""
            else:
                open_block.lines.append(line)
        elif line.startswith("```"):
            open_block = Block(line[3:].strip(), number + 1, [], before.strip())
        elif line.strip() or not before.startswith("<!--"):
            before = line
    if open_block:
        raise Wrong(f"{shown(page)}:{open_block.line - 1}: the block does not end")
    return found


def shown(page):
    """book/start/why.md."""
    return page.relative_to(ROOT).as_posix()


def code_lines(block):
    return [line for line in block.lines if line.strip() and not line.lstrip().startswith("//")]


def at_file_scope(block):
    """Whether a block declares; all others are statements of the page's main function."""
    lines = code_lines(block)
    if not lines or STATEMENT.match(lines[0].strip()):
        return False
    if FILE_SCOPE.match(lines[0].strip()):
        return True
    head = "\n".join(lines).split("{")[0]
    return ";" not in head and "=" not in head.split("(")[0] and bool(FUNCTION_HEAD.match(head.strip()))


class Page:
    """What of a page is compiled, and what it prints."""

    def __init__(self, path):
        self.path, blocks = path, blocks_of(path)
        self.code = [block for block in blocks if block.language == "cpp" and code_lines(block)]
        self.expected = [block for block in blocks if block.language == "text"]
        self.compiled_only = PAGE_COMPILED_ONLY in path.read_text().split("\n")
        self.declared = [block for block in self.code if at_file_scope(block)]
        self.stated = [block for block in self.code if block not in self.declared]
        mains = [block for block in self.declared if MAIN.search("\n".join(block.lines))]
        self.has_main = bool(mains)
        if mains and self.stated:
            raise Wrong(f"{shown(path)}:{self.stated[0].line}: statements on a page that has a main() of its own")
        if self.expected and not self.code:
            raise Wrong(f"{shown(path)}:{self.expected[0].line}: a ```text block on a page without a program; "
                        "what a command answers stands in ```console")
        for block in self.expected:
            if not any(line.strip(". ") for line in block.lines):
                raise Wrong(f"{shown(path)}:{block.line}: a ```text block that says nothing: show what the program prints")
        for block in self.declared:
            self.check_includes(block)

    def check_includes(self, block):
        for number, line in enumerate(block.lines, block.line):
            if line.startswith('#include "') and not re.match(r'#include "(models|examples)/', line):
                raise Wrong(f"{shown(self.path)}:{number}: {line}: readers include <kiln/...>")

    @property
    def name(self):
        """start_first_tensor."""
        return re.sub(r"\W", "_", self.path.relative_to(ROOT / "book").with_suffix("").as_posix())

    @property
    def case(self):
        """StartFirstTensor."""
        return "".join(word.capitalize() for word in self.name.split("_"))

    def text_of(self, block, includes):
        """The lines of a block that are includes, or the others, each under the number that it has on the page."""
        lines = [line if line.startswith("#include") == includes else "" for line in block.lines]
        if not any(line.strip() for line in lines):
            return ""
        return f'#line {block.line} "{self.path}"\n' + "\n".join(lines) + "\n"

    def includes(self):
        return "".join(self.text_of(block, True) for block in self.declared)

    def declarations(self, main="page_main"):
        text = "".join(self.text_of(block, False) for block in self.declared)
        if self.has_main and main != "main":  # outside the global scope, main() has no return 0 of its own
            head, body = MAIN.split(text, maxsplit=1)
            text = head + f"static int {main}() {{" + body.replace("\n}", "\nreturn 0; }", 1)
        return text

    def statements(self):
        if self.has_main:
            return "page_main();\n"
        text = ""
        for block in self.stated:
            code = self.text_of(block, False)
            text += f"if (kiln::book::never()) {{\n{code}}}\n" if block.remark == COMPILED_ONLY else code
        return text

    def source(self):
        """A source of test_book: a namespace, as pages have types of the same names, and a test."""
        if not self.code:
            return f"// {shown(self.path)} has no program.\n"
        text = f'// {shown(self.path)}, by tools/book.py.\n#include "tests/book/page.hpp"\n{self.includes()}'
        text += f"namespace page_{self.name} {{\n{self.declarations()}static void run() {{\n{self.statements()}}}\n"
        text += f'#line 1 "{self.name}.cpp"\nconst kiln::book::Line kExpected[] = {{\n'
        for block in self.expected:
            for number, line in enumerate(block.lines, block.line):
                text += f"  {{{number}, {quoted(line)}, {'true' if number == block.line else 'false'}}},\n"
        text += f'  {{0, "", true}}}};\n}}\nTEST(Book, {self.case}) {{\n'
        text += f'  kiln::book::check("{shown(self.path)}", {"nullptr" if self.compiled_only else ""}'
        text += f"{'' if self.compiled_only else f'page_{self.name}::run'}, page_{self.name}::kExpected);\n"
        text += f"  static_cast<void>(&page_{self.name}::run);\n}}\n"
        return text

    def alone(self):
        """The program as its reader has it, with a main() around its statements."""
        text = self.includes() + self.declarations("main")
        if self.has_main:
            return text
        never = "namespace kiln::book { inline bool never() { return false; } }\n"
        return never + text + f"int main() {{\n{self.statements()}}}\n"

    def types(self):
        """Names of types that the page declares, with `struct` and what else stands before them, and their lines."""
        for block in self.declared:
            for match in TYPE.finditer("\n".join(block.lines)):
                yield match[1], match[2], block.line + "\n".join(block.lines)[:match.start()].count("\n")


def quoted(line):
    return '"' + line.rstrip().replace("\\", "\\\\").replace('"', '\\"') + '"'


def names_source(pages):
    """A source in which a type of a page that Kiln has as well is ambiguous, as it is for readers, who have no namespace."""
    text = "// Types that pages declare where readers do: in the global namespace, and `using namespace kiln`.\n"
    text += '#include "tests/book/page.hpp"\n' + "".join(page.includes() for page in pages)
    text += "using namespace kiln;\n"
    seen = {}
    for page in pages:
        for kind, name, line in page.types():
            if kind.startswith("template") or name in seen:
                continue
            seen[name] = True
            kind = "struct" if kind == "class" else kind
            declared = f"{kind} {name}{' : int' if kind.startswith('enum') else ''};"
            text += f'#line {line} "{page.path}"\n{declared} using check_{name} = {name}*;\n'
    return text


def pages_of_nav():
    """The pages that mkdocs.yml lists, in its order, but for those of docs/."""
    lines = (ROOT / "mkdocs.yml").read_text().split("\n")
    names = [match[1] for line in lines if (match := re.match(r"\s*-\s+(?:.*:\s+)?(\S+\.md)\s*$", line))]
    return [ROOT / "book" / name for name in names if (ROOT / "book" / name).exists()]


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("what", choices=["page", "names", "alone"])
    options.add_argument("output")
    options.add_argument("page", nargs="?")
    chosen = options.parse_args()
    try:
        if chosen.what == "names":
            text = names_source([Page(path) for path in pages_of_nav()])
        else:
            page = Page((ROOT / chosen.page).resolve())
            text = page.source() if chosen.what == "page" else page.alone()
    except Wrong as wrong:
        sys.exit(f"error: {wrong}")
    pathlib.Path(chosen.output).write_text(text)


if __name__ == "__main__":
    main()
