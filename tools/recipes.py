#!/usr/bin/env python3
"""Follows two recipes of CONTRIBUTING in a copy of the tree, and runs the tests of the copy.

It adds the elementwise op whose row CONTRIBUTING shows and one primitive, and touches no file that the recipe does not
name. The copy is build/recipes, where the next run compiles only what differs."""
import re
import subprocess
import sys

from sources import ROOT, listed

COPY = ROOT / "build" / "recipes"
BUILT = COPY / "build" / "release"
# All tests that go by the table of ops; the folders below tests/ that they are built in.
PROGRAMS = {"ops": "ops", "expression": "ops/expression", "wire": "wire", "tensor": "tensor", "golden": "golden",
            "simd": "backend/simd"}
MOST_FILES = 6  # of kiln/, for a primitive

# (file, how the line begins that the text goes before, the text). The row is CONTRIBUTING's.
ELEMENTWISE = [
    ("kiln/ops/elementwise/elementwise.def", "KILN_UNARY(Tanhshrink,", "{row}\n"),
    ("tests/ops/rows/elementwise.cpp", '{"floor",', """\
      {"bent_identity", {[](double x) { return (std::hypot(x, 1) - 1) / 2 + x; }}},
"""),
]
PRIMITIVE = [
    ("kiln/ops/view/view_ops.hpp", "}  // namespace kiln::op", """\
/// The two halves of the last dimension, an element of each in turn; `back` undoes that.
struct Riffle {
  static constexpr std::string_view kName = "riffle";
  static constexpr Facts kFacts{Pattern::Opaque, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  bool back;
  Descs infer(Inputs in) const;
  void vjp(Backward& backward) const;
};

"""),
    ("kiln/ops/view/view_ops.cpp", "}  // namespace op", """\
Descs Riffle::infer(Inputs in) const {
  require_count(kName, in, 1, 1);
  require_tensor(kName, in[0]);
  const Shape& shape = in[0].shape();
  require<ShapeError>(!shape.empty() && shape.back() % 2 == 0, "riffle: ", in[0], " has no two halves");
  return one(shape, in[0].dtype());
}
void Riffle::vjp(Backward& backward) const {
  backward.to(0, [&] { return kiln::riffle(backward.grad(), !back); });
}

"""),
    ("kiln/ops/view/view_ops.cpp", "}  // namespace kiln", """\
Value riffle(const Value& x, bool back) { return emit(op::Riffle{back}, {x}); }

"""),
    ("kiln/ops/op.hpp", "Matmul,", "                             Riffle,  // view\n"),
    ("kiln/ops/view/view.hpp", "// ---- repeated ---", """\
/// The two halves of the last dimension, an element of each in turn; `back` undoes that.
Value riffle(const Value& x, bool back = false);

"""),
    ("kiln/backend/cpu/reference/view.cpp", "}  // namespace kiln::cpu::reference", """\
template <>
void run(const op::Riffle& op, Call call) {
  const Array x = read(call.in[0]), z = allocate(call.out[0]);
  const auto half = [](Array a, bool every_other, int which) {
    a.shape.back() /= 2;
    const std::int64_t from = which * a.strides.back() * (every_other ? 1 : a.shape.back());
    a.data += from * static_cast<std::int64_t>(size_of(a.dtype));
    if (every_other) a.strides.back() *= 2;
    return a;
  };
  for (const int which : {0, 1}) copy(half(x, op.back, which), half(z, !op.back, which));
}

"""),
    ("kiln/tensor/tensor.hpp", "/// Element i along `dim` moves to i + shift", """\
  /// The two halves of the last dimension, an element of each in turn; `back` undoes that.
  Tensor riffle(bool back = false) const requires(D >= 1) { return Typed{kiln::riffle(value_, back)}; }
"""),
    ("tests/ops/rows/view.cpp", 'reshaping("reshape", {2, 6}', """\
      moving(
          "riffle", {2, 6}, {2, 6}, [](const Value& x) { return riffle(x); },
          [](const Dims& i) { return Dims{i[0], i[1] / 2 + i[1] % 2 * 3}; }),
      moving(
          "riffle_back", {2, 6}, {2, 6}, [](const Value& x) { return riffle(x, true); },
          [](const Dims& i) { return Dims{i[0], i[1] % 3 * 2 + i[1] / 3}; }),
"""),
    ("tests/ops/harness.cpp", "if (!cpu::lapack_kernels)", """\
  names.insert("riffle");
"""),
    ("tests/ops/errors/index_errors.cpp", '{"ShapeError: squeeze: dimension 1 of', """\
    {"ShapeError: riffle: float32 [2, 3] has no two halves", [] { riffle(floats({2, 3})); }},
"""),
    ("tests/tensor/view_test.cpp", "Tensor<2> tiled =", """\
  EXPECT_EQ(shown(arange(6.0, best_autodiff()).riffle()), "[0. 3. 1. 4. 2. 5.]");
"""),
]


def recipe(title):
    """A section of CONTRIBUTING."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)[1]


def unnamed(title, edits):
    """Sentences about files that a recipe needs and does not name, and about too many of them."""
    named = re.findall(r"`((?:kiln|tests)/[\w/.]+)`", recipe(title))
    files = {path for path, _, _ in edits}
    for path in sorted(files):
        if not any(path == name or name.endswith("/") and path.startswith(name) for name in named):
            yield f'CONTRIBUTING.md, "{title}": {path} is not named, and an op needs it'
    if sum(path.startswith("kiln/") for path in files) > MOST_FILES:
        yield f'CONTRIBUTING.md, "{title}": an op needs more than {MOST_FILES} files of kiln/'


def edited(files, path, before, text):
    lines = files[path].decode().splitlines(keepends=True)
    places = [i for i, line in enumerate(lines) if line.lstrip().startswith(before)]
    if len(places) != 1:
        raise SystemExit(f"tools/recipes.py: {path} has {len(places)} lines that begin with {before}")
    lines.insert(places[0], text)
    files[path] = "".join(lines).encode()


def write_copy(files):
    """Files that are the same already keep their dates, so that only what differs is compiled."""
    for path, text in files.items():
        place = COPY / path
        if not place.is_file() or place.read_bytes() != text:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(text)
            place.chmod((ROOT / path).stat().st_mode)


def run(*command):
    done = subprocess.run(list(map(str, command)), cwd=COPY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise SystemExit(f"after CONTRIBUTING's recipes, {' '.join(map(str, command[:3]))} fails:\n{done.stdout[-4000:]}")


def main():
    wrong = [*unnamed("Add an elementwise op", ELEMENTWISE), *unnamed("Add a primitive", PRIMITIVE)]
    if wrong:
        raise SystemExit("\n".join(wrong))
    row = re.search(r"^KILN_UNARY\(.*\)$", recipe("Add an elementwise op"), re.MULTILINE)[0]
    files = {str(path): (ROOT / path).read_bytes() for path in listed("*")}
    for path, before, text in [*ELEMENTWISE, *PRIMITIVE]:
        edited(files, path, before, text.replace("{row}", row))
    write_copy(files)
    if not (BUILT / "build.ninja").exists():
        run("cmake", "--preset", "release", "-DKILN_WERROR=ON", "-DKILN_EXAMPLES=OFF", "-DKILN_BENCH=OFF")
    run("ninja", "-C", BUILT, *(f"test_{program}" for program in PROGRAMS))
    for program, folder in PROGRAMS.items():
        run(BUILT / "tests" / folder / f"test_{program}", "--gtest_brief=1")
    run(sys.executable, COPY / "tools/docs.py", "--program", BUILT / "tests/ops/test_ops")
    run("ctest", "--test-dir", BUILT, "--output-on-failure", "--no-tests=error", "-R", "^(Facade|Docs)[.]")


if __name__ == "__main__":
    main()
