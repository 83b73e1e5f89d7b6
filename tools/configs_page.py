"""The page docs/config-fields.md: what each struct of settings has, in the order in which designated initializers name it."""
import re

import facade
from declarations import closing

FOLDERS = {"nn": "Layers", "optim": "Optimizers", "train": "Training", "data": "Data", "store": "Files", "onnx": "ONNX", "net": "Networks",
           "rl": "Reinforcement learning", "models": "Models"}
STRUCT = re.compile(r"^struct (\w+(?:Config|Options|Limits)) (?:final )?\{", re.M)
BODY = re.compile(r"\)|\b(struct|class|enum|union)\b")  # what stands before a brace that opens a function's or a type's body
INTRO = """# Fields of configs

Written by `./dev docs` from the headers; not by hand.

A config is a struct whose fields are named where it is made: `nn::LinearConfig{.in = 3, .out = 4}`. C++ wants them in the order
of this page, and lets you leave out those with a value. A field without one must be given. `nn::Conv2dConfig` and others that
end in a number of dimensions are the template of the same name without it: look for `ConvConfig`.

"""


def plain(text):
    """The text without comments and preprocessor lines."""
    return re.sub(r"//[^\n]*|^#[^\n]*", "", text, flags=re.M)


def fields(body):
    """The members of a struct in order: declarations outside of functions and nested types."""
    found, start, at = [], 0, 0
    while at < len(body):
        if body[at] in "{(":
            declared, end = body[start:at], closing(body, at)
            if body[at] == "{" and "=" not in declared and BODY.search(declared):
                start = end + 1
            at = end
        elif body[at] == ";":
            declared = " ".join(body[start:at].split())
            start = at + 1
            if is_field(declared):
                found.append(declared)
        at += 1
    return found


def is_field(declared):
    before = declared.split("=")[0]
    return bool(declared) and "(" not in before and not re.match(r"(static|using|friend|template|public|private|enum)\b", declared)


def page():
    text = INTRO
    for folder, title in FOLDERS.items():
        root = facade.ROOT / (folder if folder == "models" else f"kiln/{folder}")
        rows = {}
        for header in sorted(root.rglob("*.hpp")):
            content = plain(header.read_text())
            for match in STRUCT.finditer(content):
                open_brace = match.end() - 1
                own = fields(content[open_brace + 1:closing(content, open_brace)])
                if own:
                    rows[match[1]] = own, header.relative_to(facade.ROOT)
        if not rows:
            continue
        text += f"## {title}\n\n| config | fields | header |\n|---|---|---|\n"
        for name in sorted(rows):
            own, header = rows[name]
            cell = "<br>".join(f"`{each}`" for each in own).replace("|", "\\|")
            text += f"| `{name}` | {cell} | `{header}` |\n"
        text += "\n"
    return text.rstrip() + "\n"
