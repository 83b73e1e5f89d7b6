// Activation functions.
#include "kiln/ops/elementwise/activation.hpp"
#include "kiln/onnx/operators/broadcast.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"

namespace kiln::onnx {
namespace {

// A function whose second operand is an attribute.
template <Value (*function)(const Value&, const Value&)>
Results with_attribute(Call& c) {
  const KilnFunction& is = c.node.row->traits.function;
  return function(c[0], c.f(is.attribute, is.otherwise));
}

// The function runs over `axis`. Up to version 12 it runs over the columns of x as a matrix: the dimensions before `axis`
// are its rows, the others its columns.
template <Value (*function)(const Value&, kiln::Dim)>
Results along_axis(Call& c) {
  const Value& x = c[0];
  const bool as_matrix = c.version() < 13;
  const int axis = c.dim(c.i("axis", as_matrix ? 1 : -1), x.rank());
  if (!as_matrix) return function(x, axis);
  std::int64_t rows = 1, columns = 1;
  for (int d = 0; d < x.rank(); ++d) (d < axis ? rows : columns) *= x.dim(d);
  return reshape(function(reshape(x, {rows, columns}), 1), x.shape());
}

Value hardmax(const Value& x, kiln::Dim axis) {
  const int dim = wrap_dim("Hardmax", axis, x.rank());
  return cast(eq(argmax(x, dim, true), counted(x.dim(dim), dim, x.rank(), x.device())), x.dtype());
}

Results prelu_of(Call& c) {
  const Value &x = c[0], &slope = c[1];
  const bool by_channel = c.version() < 7 && slope.rank() == 1 && slope.numel() > 1 && x.rank() > 2;
  return of_type(where(lt(x, 0), (by_channel ? along(slope, 1, x.rank()) : slope) * x, x), x.dtype());
}

Results gelu_of(Call& c) {
  const std::string how = c.s("approximate", "none");
  c.check(how == "none" || how == "tanh", "approximate '", how, "' is neither none nor tanh");
  return how == "tanh" ? gelu_tanh(c[0]) : gelu(c[0]);
}

Results selu_of(Call& c) {
  const Value& x = c[0];
  const double alpha = c.f("alpha", c.version() < 6 ? 1.6732 : 1.67326319217681884765625);
  const double gamma = c.f("gamma", c.version() < 6 ? 1.0507 : 1.05070102214813232421875);
  return where(gt(x, 0), x, expm1(x) * alpha) * gamma;
}

Results shrink_of(Call& c) {
  const Value& x = c[0];
  const double bound = c.f("lambd", 0.5), bias = c.f("bias", 0);
  return of_type(where(lt(x, -bound), x + bias, where(gt(x, bound), x - bias, zeros_like(x))), x.dtype());
}

Results hard_sigmoid_of(Call& c) { return hard_sigmoid(c[0], c.f("alpha", 0.2f), c.f("beta", 0.5)); }
Value swish(const Value& x, double alpha) { return alpha == 1 ? silu(x) : x * sigmoid(x * alpha); }

using op::BinaryFn;
using op::UnaryFn;
constexpr OperatorRow kActivationRows[] = {
    {"Celu", 12, with_attribute<celu>, traits_of(BinaryFn::Celu, "alpha", 1)},
    {"Elu", 1, with_attribute<elu>, traits_of(BinaryFn::Elu, "alpha", 1)},
    {"Gelu", 20, gelu_of, traits_of(UnaryFn::Gelu)},
    {"HardSigmoid", 1, hard_sigmoid_of, {.kind = OperatorKind::Elementwise}},
    {"HardSwish", 14, result_of<hard_swish>, traits_of(UnaryFn::HardSwish)},
    {"Hardmax", 1, along_axis<hardmax>, {.kind = OperatorKind::SameShape}},
    {"LeakyRelu", 1, with_attribute<leaky_relu>, traits_of(BinaryFn::LeakyRelu, "alpha", 0.01f)},
    {"LogSoftmax", 1, along_axis<log_softmax>, {.kind = OperatorKind::SameShape}},
    {"Mish", 18, result_of<mish>, traits_of(UnaryFn::Mish)},
    {"PRelu", 1, prelu_of, {.kind = OperatorKind::Broadcasting}},
    {"Relu", 1, result_of<relu>, traits_of(UnaryFn::Relu)},
    {"Selu", 1, selu_of, {.kind = OperatorKind::Elementwise}},
    {"Shrink", 9, shrink_of, {.kind = OperatorKind::Elementwise}},
    {"Sigmoid", 1, result_of<sigmoid>, traits_of(UnaryFn::Sigmoid)},
    {"Softmax", 1, along_axis<softmax>, {.kind = OperatorKind::SameShape}},
    {"Softplus", 1, result_of<softplus>, traits_of(UnaryFn::Softplus)},
    {"Softsign", 1, result_of<softsign>, traits_of(UnaryFn::Softsign)},
    {"SwiGLU", 28, [](Call& c) -> Results { return swish(c[0], c.f("alpha", 1)) * c[1]; }},
    {"Swish", 24, [](Call& c) -> Results { return swish(c[0], c.f("alpha", 1)); }, traits_of(UnaryFn::Silu)},
    {"Tanh", 1, result_of<tanh>, traits_of(UnaryFn::Tanh)},
    {"ThresholdedRelu", 10, with_attribute<thresholded_relu>, traits_of(BinaryFn::ThresholdedRelu, "alpha", 1)},
};

}  // namespace

std::span<const OperatorRow> activation_rows() { return kActivationRows; }

}  // namespace kiln::onnx
