"""Declarations of functions in Kiln's headers, as tools/functions_page.py needs them: macros of the header expanded, with section
and docstring, and signatures that are short enough for a table. It reads Kiln's style, not all of C++."""
import re

from facade import KEYWORDS, ROOT, columns

DEFINE = re.compile(r"#define (\w+)(?:\(([^)]*)\))?[ ]?((?:[^\n\\]|\\.|\\\n)*)")
WORDS = ("static", "inline", "constexpr", "explicit", "typename")
OPENING, CLOSING = "([{<", ")]}>"


def expanded(text, macros):
    """The text with its own macros and the .def files that it includes expanded, and without other directives."""
    out, at = [], 0
    token = re.compile(r'//[^\n]*|^[ \t]*#(?:\\\n|[^\n])*|\bKILN_\w+', re.MULTILINE)
    while match := token.search(text, at):
        out.append(text[at:match.start()])
        word, at = match[0].strip(), match.end()
        if word.startswith("//"):
            out.append(word)
        elif define := DEFINE.match(word):
            macros[define[1]] = (define[2], define[3].replace("\\\n", "\n"))
        elif include := re.match(r'#include "(.*\.def)"', word):
            out.append("\n" + expanded((ROOT / include[1]).read_text(), macros) + "\n")
        elif word in macros:
            names, body = macros[word]
            arguments = []
            if names is not None:
                end = closing(text, at)
                arguments = columns(text[at:end + 1])
                at = end + 1
            for name, value in zip((n.strip() for n in (names or "").split(",")), arguments):
                body = re.sub(rf"\b{re.escape(name)}\b", lambda _, v=value.strip(): v, body) if name != "..." else body
            out.append(expanded(body + "\n", macros))
        elif not word.startswith("#"):
            out.append(word)
    return "".join(out) + text[at:]


def closing(text, start):
    """Where the parenthesis or brace that opens at `start` closes."""
    depth = 0
    for at in range(start, len(text)):
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at
    raise ValueError(f"a parenthesis or brace stays open: {text[start:start + 60]}")


def template_of(declaration):
    """(the parameters of its template, what follows)."""
    if not declaration.startswith("template"):
        return "", declaration
    end, depth = declaration.index("<"), 0
    for at in range(end, len(declaration)):
        depth += {"<": 1, ">": -1}.get(declaration[at], 0)
        if depth == 0:
            return declaration[end + 1:at], declaration[at + 1:].strip()
    return "", declaration


def pieces(text):
    """The parts between commas outside of brackets."""
    found, depth = [""], 0
    for at, letter in enumerate(text):
        depth += (letter in OPENING) - (letter in CLOSING and text[at - 1:at + 1] != "->")
        if letter == "," and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    return [piece.strip() for piece in found if piece.strip()]


def plain_type(text):
    """Ranks and kinds that are computed become three dots."""
    out, at = "", 0
    for match in re.finditer(r"\bTensor\w*<", text):
        if match.start() < at:
            continue
        depth, end = 0, match.end() - 1
        for end in range(match.end() - 1, len(text)):
            depth += {"<": 1, ">": -1}.get(text[end], 0) if not re.search(r"\(D < E|-> *$", text[end - 3:end + 3]) else 0
            if depth == 0:
                break
        inner = pieces(text[match.end():end].replace("(D < E ? E : D)", "kLarger"))
        said = ["..." if re.search(r"\bk[A-Z]|sizeof|<|\?|::", part) else part for part in inner]
        out, at = out + text[at:match.end()] + ", ".join(said) + ">", end + 1
    return out + text[at:]


def unrestricted(text):
    """A declaration without the `requires` clause that it begins with."""
    if not text.startswith("requires"):
        return text
    at = len("requires")
    while True:  # conditions between && and ||: in parentheses, or a name with arguments of a template
        at += len(text[at:]) - len(text[at:].lstrip(" !"))
        if text[at] == "(":
            at = closing(text, at) + 1
        else:
            at += re.match(r"[\w:]+", text[at:]).end()
            if text[at] == "<":
                at = len(text) - len(template_of("template" + text[at:])[1])
            at += re.match(r"(?:::\w+)*", text[at:].lstrip()).end() if text[at:].lstrip().startswith("::") else 0
        follows = re.match(r"\s*(?:&&|\|\|)", text[at:])
        if not follows:
            return text[at:].strip()
        at += follows.end()


def signature(declaration):
    """(name, signature) of a function's declaration, or None."""
    parameters, rest = template_of(re.sub(r"\[\[.*?\]\]\s*", "", " ".join(declaration.split())))
    rest = unrestricted(rest)
    rest = re.sub(rf"\b(?:{'|'.join(WORDS)}) ", "", rest)
    heads = [m for m in re.finditer(r"([a-z]\w*)\(", rest)
             if m[1] not in KEYWORDS and not re.search(r"(?:::|\brequires[^()]*)$", rest[:m.start()])]
    heads = [m for m in heads if re.search(r"[>\w&*] $|^auto $", rest[:m.start()]) and "operator" not in rest[:m.start()]]
    if not heads:
        return None
    head = heads[0]
    end = closing(rest, head.end() - 1)
    inside, result = rest[head.end():end], rest[:head.start()].strip()
    if after := re.match(r"(?: const)? -> (.*?)(?: requires.*)?$", rest[end + 1:]):
        result = after[1]
    result = result.strip() or "auto"
    deducible = re.sub(r"= [^,]*|\w+::\w+", "", inside)
    chosen = []
    for parameter in pieces(parameters):
        name = re.match(r"(?:[\w:]+(?:<.*?>)?(?:\.\.\.)?) (\w+)", parameter)
        if name and "KindOf" not in parameter and not re.search(rf"\b{name[1]}\b", deducible):
            chosen.append(name[1])
    shown = f"{head[1]}<{', '.join(chosen)}>" if chosen else head[1]
    return head[1], f"{plain_type(result)} {shown}({plain_type(inside)})"


def declarations(text):
    """(section, docstring, declaration) of what stands directly in a namespace or in the public part of class Tensor."""
    section, doc, start, at, depth = "", "", 0, 0, 0
    token = re.compile(r"//[^\n]*|\n[ \t]*\n|[{}();]")
    current = ""
    while match := token.search(text, at):
        current += text[at:match.start()]
        word, at = match[0], match.end()
        if word.startswith("///"):
            doc = (doc + " " if not current.strip() else "") + word[3:]
        elif word.startswith("//"):
            if title := re.match(r"// -{3,4} (.*?)\s*-*$", word):
                section, doc = title[1], ""
        elif not word.strip():
            doc = doc if current.strip() else ""
        elif word in "()":
            depth += 1 if word == "(" else -1
            current += word
        elif word == "{" and depth == 0 and re.search(r"\bnamespace kiln\s*$|\bclass\b[^;{}]*\bTensor\s*$", current):
            section, current, doc = "making a tensor", "", ""
        elif word == "{" and depth == 0:
            yield section, doc.strip(), current.strip()
            inner, at = 1, at
            while inner:
                brace = re.compile(r"//[^\n]*|[{}]").search(text, at)
                inner, at = inner + {"{": 1, "}": -1}.get(brace[0], 0), brace.end()
            current, doc = "", ""
        elif word == ";" and depth == 0:
            yield section, doc.strip(), current.strip()
            current, doc = "", ""
        elif word == "}" and depth == 0:
            current, doc = "", ""
        else:
            current += word
