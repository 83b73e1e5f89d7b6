#!/usr/bin/env python3
"""Follows recipes of CONTRIBUTING in a copy of the tree, and runs the tests of the copy.

It adds the elementwise op whose row CONTRIBUTING shows, a primitive, a schedule, a metric, a model family and an ONNX
operator, and touches no file that the recipe does not name. The copy is build/recipes, where the next run compiles only
what differs."""
import re
import subprocess
import sys

from sources import ROOT, listed

COPY = ROOT / "build" / "recipes"
BUILT = COPY / "build" / "release"
# All tests that go by the table of ops, and those of the other recipes; the folders below tests/ that they are built in.
PROGRAMS = {"ops": "ops", "expression": "ops/expression", "wire": "wire", "tensor": "tensor", "golden": "golden",
            "simd": "backend/simd", "optim": "optim", "metrics": "train", "models": "models", "onnx": "onnx"}
MOST_FILES = 6  # of kiln/, for a recipe

# (file, how the line begins that the text goes before, the text), or (new file, None, its text). The row is CONTRIBUTING's.
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
  static constexpr OpTraits kTraits{Pattern::Opaque, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
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
SCHEDULE = [
    ("kiln/optim/schedule/decay.hpp", "/// Vaswani et al.", """\
/// `initial` / (1 + `decay` * step), as of stochastic approximation (Robbins, Monro, 1951).
struct InverseTimeConfig {
  static constexpr std::string_view kName = "InverseTime";
  double initial = 1e-3, decay = 0.01;
  [[nodiscard("at() says a rate: it sets none")]] double at(std::int64_t step) const;
  void check() const;  // `decay` is no less than 0
  Schedule<InverseTimeConfig> init() const;
};

"""),
    ("kiln/optim/schedule/decay.cpp", "double NoamConfig::at", """\
double InverseTimeConfig::at(std::int64_t step) const {
  check();
  return initial / (1 + decay * static_cast<double>(step));
}

"""),
    ("kiln/optim/schedule/decay.cpp", "void NoamConfig::check", """\
void InverseTimeConfig::check() const {
  require_rates_above_zero(kName, {{"initial", initial}});
  require_rates(kName, {{"decay", decay}});
}

"""),
    ("kiln/optim/schedule/decay.cpp", "KILN_INIT(NoamConfig)", "KILN_INIT(InverseTimeConfig)\n"),
    ("kiln/optim/schedule/combined.hpp", "CyclicConfig, LambdaConfig", "                   InverseTimeConfig,\n"),
    ("tests/optim/schedule_test.cpp", '{"noam", NoamConfig', """\
      {"inverse_time", InverseTimeConfig{.initial = 0.5, .decay = 0.25}, [](int64_t t) { return 2 / (4 + double(t)); }},
"""),
    ("tests/optim/config_checks_test.cpp", "expect_schedule_checked(NoamConfig", """\
  expect_schedule_checked(InverseTimeConfig{.initial = 0.1, .decay = 0.1});
"""),
    ("docs/optimizers.md", "| `NoamConfig` |", """\
| `InverseTimeConfig` | divided by what rises with the step (Robbins, Monro 1951) | closed form |
"""),
]
METRIC = [
    ("kiln/train/metric/regression.hpp", "}  // namespace deviation", """\
/// The square of the logarithms' difference, of numbers above -1.
struct SquaredLog {
  static constexpr std::string_view kName = "mean_squared_log_error";
  static double of(double prediction, double target);
};

"""),
    ("kiln/train/metric/regression.hpp", "using MeanAbsolutePercentageError", """\
using MeanSquaredLogError = DeviationMetric<deviation::SquaredLog>;
"""),
    ("kiln/train/metric/regression.cpp", "}  // namespace deviation", """\
double SquaredLog::of(double prediction, double target) {
  return Squared::of(std::log1p(prediction), std::log1p(target));
}

"""),
    ("tests/train/metric/metric_test.cpp", "TEST(Metrics, AMeanIsThatOfItems", """\
TEST(Metrics, OfLogarithms) {
  const double e = std::exp(1.0);
  const std::vector<double> truth = {0, e - 1, e * e - 1, 0}, guess = {e - 1, e - 1, 0, 0};
  expect_metric(5.0 / 4, metric::MeanSquaredLogError{}, 4, [&](auto& m, std::int64_t begin, std::int64_t end) {
    m.update(rows<1>(guess, {4}, begin, end), rows<1>(truth, {4}, begin, end));
  });
}

"""),
    ("docs/training.md", "| searches |", "| numbers of many sizes | `MeanSquaredLogError` | closed form |\n"),
]
MODEL = [
    ("models/highway.hpp", None, """\
// Highway networks (Srivastava, Greff, Schmidhuber, "Training very deep networks", 2015).
#pragma once
#include <vector>

#include "kiln/nn/linear.hpp"

namespace kiln::models {

struct Highway {
  std::vector<nn::Linear> transforms, gates;

  /// x [batch, width] -> [batch, width]: each layer gives t relu(h(x)) + (1 - t) x with t = sigmoid(gate(x)).
  Tensor<2> forward(const Tensor<2>& x) const;
};

struct HighwayConfig {
  std::int64_t width;
  std::int64_t layers = 10;

  /// Throws ArgumentError for a number below 1.
  Highway init(const Device& device) const;
};

}  // namespace kiln::models
"""),
    ("models/highway.cpp", None, """\
#include "models/highway.hpp"

namespace kiln::models {

Tensor<2> Highway::forward(const Tensor<2>& x) const {
  Tensor<2> y = x;
  for (std::size_t i = 0; i < gates.size(); ++i) {
    const Tensor<2> gate = gates[i].forward(y).sigmoid();
    y = gate * transforms[i].forward(y).relu() + (1 - gate) * y;
  }
  return y;
}

Highway HighwayConfig::init(const Device& device) const {
  require<ArgumentError>(width >= 1 && layers >= 1, "HighwayConfig: width = ", width, " and layers = ", layers,
                         " must be positive");
  Highway model;
  const nn::LinearConfig linear{.in = width, .out = width};
  for (std::int64_t i = 0; i < layers; ++i) {
    model.transforms.push_back(linear.init(device));
    model.gates.push_back(linear.init(device));
  }
  return model;
}

}  // namespace kiln::models
"""),
    ("models/CMakeLists.txt", "images.cpp", "  highway.cpp\n"),
    ("tests/models/small_models_test.cpp", '#include "models/language/tagger.hpp"', '#include "models/highway.hpp"\n'),
    ("tests/models/small_models_test.cpp", "TEST(Regressor, FitsAProduct)", """\
TEST(Highway, GivesWhatALoopGives) {
  Device::cpu().seed(5);
  constexpr std::size_t kWidth = 3;
  const Highway model = valid(HighwayConfig{.width = kWidth, .layers = 2}.init(Device::cpu()));
  const Tensor<2> x = uniform({2, kWidth}, -2, 2, Device::cpu(), Key{1});
  std::vector<double> y;
  for (const float each : x.to_vector()) y.push_back(each);
  for (std::size_t layer = 0; layer < 2; ++layer) {
    const auto linear = [&](const nn::Linear& l, std::size_t row, std::size_t out) {
      const auto weight = l.weight.to_vector(), bias = l.bias.to_vector();
      double sum = bias[out];
      for (std::size_t in = 0; in < kWidth; ++in)
        sum += static_cast<double>(weight[out * kWidth + in]) * y[row * kWidth + in];
      return sum;
    };
    std::vector<double> next;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double gate = 1 / (1 + std::exp(-linear(model.gates[layer], i / kWidth, i % kWidth)));
      const double made = std::max(0.0, linear(model.transforms[layer], i / kWidth, i % kWidth));
      next.push_back(gate * made + (1 - gate) * y[i]);
    }
    y = next;
  }
  const auto got = model.forward(x).to_vector();
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(got[i], y[i], 1e-5);
  EXPECT_EQ(raised<ArgumentError>([] { HighwayConfig{.width = 0}.init(Device::cpu()); }),
            "HighwayConfig: width = 0 and layers = 10 must be positive");
}

"""),
    ("docs/models.md", "| `Regressor` |", "| `Highway` | Srivastava et al. 2015 | a loop over doubles | | |\n"),
]
ONNX = [
    ("kiln/onnx/operators/fused.cpp", "constexpr OperatorRow kFusedRows[]", """\
// The distance of each row of a [m, k] from each row of b [n, k]: [m, n].
Results row_distances(Call& c) {
  const std::string metric = c.s("metric", "sqeuclidean");
  c.check(metric == "euclidean" || metric == "sqeuclidean", "metric '", metric,
          "' is neither euclidean nor sqeuclidean");
  c.check(c[0].rank() == 2 && c[1].rank() == 2 && c[0].dim(1) == c[1].dim(1), c[0].shape(), " and ", c[1].shape(),
          " are not [m, k] and [n, k]");
  const Value squares = sum(square(unsqueeze(c[0], 1) - unsqueeze(c[1], 0)), {2});
  return metric == "euclidean" ? sqrt(squares) : squares;
}

"""),
    ("kiln/onnx/operators/fused.cpp", '{"EmbedLayerNormalization", 1', '    {"CDist", 1, row_distances},\n'),
    ("tests/onnx/microsoft_test.cpp", "TEST(Microsoft, MeansOfQuantisedNumbers)", """\
TEST(Microsoft, DistancesOfRows) {
  const Value a = from_data(TensorData::of<float>({1, 2}, {3, 4}), Device::cpu());
  const Value b = from_data(TensorData::of<float>({2, 2}, {0, 0, 3, 6}), Device::cpu());
  const Value distances = apply("com.microsoft.CDist", 1, {a, b}, {{"metric", "euclidean"}}).datum.value();
  EXPECT_EQ(distances.shape(), Shape({1, 2}));
  EXPECT_EQ(distances.data().to_vector<double>(), (std::vector<double>{5, 2}));
}

"""),
    ("docs/onnx.md", "| DynamicQuantizeLSTM | com.microsoft", "| CDist | com.microsoft | from 1 | fused |\n"),
]
RECIPES = {"Add an elementwise op": ELEMENTWISE, "Add a primitive": PRIMITIVE, "Add a schedule": SCHEDULE,
           "Add a metric": METRIC, "Add a model family": MODEL, "Add an ONNX operator": ONNX}


def recipe(title):
    """A section of CONTRIBUTING."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)[1]


def unnamed(title, edits):
    """Sentences about files that a recipe needs and does not name, and about too many of them."""
    named = re.findall(r"`((?:kiln|tests|models|docs)/[\w/.]+)`", recipe(title))
    files = {path for path, _, _ in edits}
    for path in sorted(files):
        if not any(path == name or name.endswith("/") and path.startswith(name) for name in named):
            yield f'CONTRIBUTING.md, "{title}": {path} is not named, and the recipe needs it'
    if sum(path.startswith("kiln/") for path in files) > MOST_FILES:
        yield f'CONTRIBUTING.md, "{title}": it needs more than {MOST_FILES} files of kiln/'


def edited(files, path, before, text):
    if before is None:
        files[path] = text.encode()
        return
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
            if (ROOT / path).exists():  # or else the recipes made it
                place.chmod((ROOT / path).stat().st_mode)


def run(*command):
    done = subprocess.run(list(map(str, command)), cwd=COPY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise SystemExit(f"after CONTRIBUTING's recipes, {' '.join(map(str, command[:3]))} fails:\n{done.stdout[-4000:]}")


def main():
    wrong = [line for title, edits in RECIPES.items() for line in unnamed(title, edits)]
    if wrong:
        raise SystemExit("\n".join(wrong))
    row = re.search(r"^KILN_UNARY\(.*\)$", recipe("Add an elementwise op"), re.MULTILINE)[0]
    files = {str(path): (ROOT / path).read_bytes() for path in listed("*")}
    for edits in RECIPES.values():
        for path, before, text in edits:
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
