"""The places of kiln/ that can be broken on purpose, for mutate.py: each is a small change of one line."""
import dataclasses
import hashlib
import random
import re

from sources import ROOT

# What is drawn of a folder, and the programs that see it, nearest first. A folder also stands for those beneath it
# that are not named; kernels and gradients get the most.
FOLDERS = {
    "kiln/ops": (9, "ops expression extremes golden random matrices autodiff tensor precision nn layers"),
    "kiln/autodiff": (1, "autodiff matrices programs random tensor nn"),
    "kiln/fusion": (2, "fusion random inspect ops plans"),
    "kiln/backend/capture": (0.5, "tensor programs wire store"),
    "kiln/backend/inspect": (0.5, "inspect told"),
    "kiln/backend/cpu": (1.5, "cpu_memory device_memory cpu_kernels cpu_devices fusion ops"),
    "kiln/backend/cpu/reference": (3, "cpu_kernels ops golden simd"),
    "kiln/backend/cpu/simd": (6, "simd cpu_kernels fusion ops random golden"),
    "kiln/backend/cpu/conv": (1, "conv fusion ops random"),
    "kiln/backend/cpu/matmul": (0.5, "simd conv fusion ops random"),
    "kiln/backend/cpu/onednn": (1, "conv onednn fusion ops random"),
    "kiln/backend/cpu/amx": (0.5, "amx fusion ops"),
    "kiln/backend/cpu/lapack": (1, "lapack ops golden extremes matrices"),
    "kiln/tensor": (1, "tensor programs nn layers"),
    "kiln/nn": (1, "module layers layer_doors nn programs golden"),
    "kiln/optim": (1, "optim optimizers optimizer_passes optim_doors programs"),
    "kiln/data": (1, "data data_tensors tokenizers spectra pictures annotated arrow parquet sqlite hub"),
    "kiln/store": (0.5, "store formats programs"),
    "kiln/core": (1, "core config store ops"),
}
KERNELS_AND_GRADIENTS = ("kiln/ops", "kiln/autodiff", "kiln/fusion", "kiln/backend/cpu")

# Where a change makes things slower or faster and alters no result, no test can see it.
TUNING = re.compile(r"grain|kTile|kSpin|kBlock|piece|prefetch|reserve\(|madvise|worth|cheap|cost|relax|kLarge|kSmall",
                    re.IGNORECASE)
NO_CODE = re.compile(r"\s*(#|static_assert|using\b|namespace\b|template\b|friend\b|enum\b|requires\b|KILN_[A-Z]+_ENUM)")
SYMMETRIC = set("max min mul add eq ne logical_and logical_or logical_xor swap hypot Mul Add Max Min".split())
NOT_CALLS = set("if for while switch return sizeof alignas decltype catch defined operator".split())


@dataclasses.dataclass(frozen=True)
class Mutation:
    path: str
    line: int  # from 1
    kind: str
    before: str  # the whole line
    after: str

    @property
    def name(self):
        digest = hashlib.sha256(f"{self.before}\0{self.after}".encode()).hexdigest()[:8]
        return f"{self.path}:{self.line}:{digest}"

    @property
    def folder(self):
        return max((f for f in FOLDERS if self.path.startswith(f + "/")), key=len, default="")


def swap(*pairs):
    return {a: b for pair in pairs for a, b in (pair, pair[::-1])}


OPERATORS = {
    "arithmetic": swap((" + ", " - "), (" * ", " / ")) | {" % ": " * ", " += ": " = ", " -= ": " += ", " *= ": " = "},
    "comparison": swap((" < ", " <= "), (" > ", " >= "), (" == ", " != ")),
    "order": swap((" < ", " > "), (" <= ", " >= ")),
    "logic": swap((" && ", " || ")),
}
WORDS = swap(("min", "max"), ("sin", "cos"), ("sinh", "cosh"), ("floor", "ceil"), ("true", "false"), ("gt", "lt"),
             ("ge", "le"), ("first", "last"), ("begin", "end"), ("rows", "columns"), ("front", "back"),
             ("exp", "expm1"), ("log", "log1p"), ("Min", "Max"), ("lower", "upper"), ("before", "after"))


def masked(text):
    """The text with comments, strings and characters blanked out, as long as before."""
    pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\''
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.DOTALL)


def in_template_arguments(code, at):
    return re.search(r"\w<[^<>;()]*$", code[:at]) is not None


def number_changed(word):
    if "." in word or "e" in word:
        value = float(word) * 2
        return repr(value) if value else "1.0"
    return str(int(word) + 1)


def changes(code, previous):
    """(kind, start, end, replacement) for each way to break a line; `previous` is the line of code before it."""
    for kind, table in OPERATORS.items():
        for match in re.finditer(r" (?:[-+*]=|[-+*/%]|[<>]=?|[=!]=|&&|\|\|) ", code):
            if match[0] in table:
                yield kind, *match.span(), table[match[0]]
    for match in re.finditer(r"(?<![\w.>'])\w+(?![\w'])", code):
        if match[0] in WORDS and not code[match.end():].startswith("::"):
            yield "word", *match.span(), WORDS[match[0]]
    for match in re.finditer(r"(?<![\w.'])\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.'])", code):
        if not in_template_arguments(code, match.start()):
            yield "constant", *match.span(), number_changed(match[0])
    for match in re.finditer(r"(?<=[\s(])-(?=[\w(])", code):
        yield "sign", *match.span(), ""
    for match in re.finditer(r"!(?=[\w(])", code):
        yield "negation", *match.span(), ""
    for match in re.finditer(r"\b(?:if|while) \((?!\w+ [\w*&]+ =|const|auto|!)", code):
        depth, end = 1, match.end()
        while end < len(code) and depth:
            depth += {"(": 1, ")": -1}.get(code[end], 0)
            end += 1
        condition = code[match.end():end - 1]
        if not depth and ";" not in condition and "= " not in re.sub(r"[=!<>]=", "", condition):
            yield "condition", match.end(), end - 1, f"!({condition})"
    for match in re.finditer(r"\b(\w+)\((\w+), (\w+)\)", code):
        if match[1] not in SYMMETRIC | NOT_CALLS and match[2] != match[3]:
            yield "arguments", *match.span(), f"{match[1]}({match[3]}, {match[2]})"
    statement = re.fullmatch(r"(\s+)(break|continue|(?:\+\+|--)\w+|"
                             r"(?!return\b|delete\b|throw\b)[\w.:>\[\]-]+(?:\(.*\)| [-+*|&^]?= .*));\s*", code)
    if statement and re.search(r"[;{}:)]\s*$|^\s*else\s*$", previous):
        yield "statement", statement.start(2), statement.end(), "{}"


def mutations_of(path):
    lines = (ROOT / path).read_text().split("\n")
    previous, gradient, found = "{", False, []
    for number, (line, code) in enumerate(zip(lines, masked("\n".join(lines)).split("\n")), 1):
        if re.match(r"\S.*\bvjp\(", code):
            gradient = True
        elif code.startswith("}"):
            gradient = False
        if code.strip() and not NO_CODE.match(code) and not TUNING.search(code):
            for kind, start, end, new in changes(code, previous):
                # A condition's own text may hold what was blanked out.
                new = new.replace(code[start:end], line[start:end]) if kind == "condition" else new
                mutation = Mutation(str(path), number, kind, line, line[:start] + new + line[end:])
                found.append((mutation, gradient or path.suffix == ".def"))
        if code.strip():
            previous = code
    return found


def drawn(count, seed, only, possible):
    """`count` mutations of files under one of `only`, the same for the same seed; possible(path) says which files."""
    folders = {folder: {} for folder in FOLDERS}
    files = (path.relative_to(ROOT) for path in (ROOT / "kiln").rglob("*") if path.suffix in (".cpp", ".hpp", ".def"))
    for path in sorted(files):
        if any(str(path).startswith(prefix) for prefix in only) and possible(str(path)):
            for mutation, gradient in mutations_of(path):
                folders.get(mutation.folder, {}).setdefault((mutation.kind, gradient), []).append(mutation)
    folders = {folder: kinds for folder, kinds in folders.items() if kinds}
    chooser, chosen = random.Random(seed), {}
    while folders and len(chosen) < count:
        names = list(folders)
        kinds = folders[chooser.choices(names, [FOLDERS[name][0] for name in names])[0]]
        keys = list(kinds)
        # A kind of change by the root of how often it is possible, so that constants do not crowd out the rest.
        weights = [(3 if gradient else 1) * len(kinds[kind, gradient]) ** 0.5 for kind, gradient in keys]
        places = kinds[chooser.choices(keys, weights)[0]]
        mutation = places.pop(chooser.randrange(len(places)))
        chosen[mutation.name] = mutation
        folders = {f: {k: p for k, p in kinds.items() if p} for f, kinds in folders.items()}
        folders = {f: kinds for f, kinds in folders.items() if kinds}
    return list(chosen.values())
