// Products of matrices and tensors.
#include <algorithm>

#include "kiln/onnx/operators/broadcast.hpp"
#include "kiln/onnx/passes/shape_rules.hpp"
#include "kiln/ops/linalg/linalg.hpp"
#include "kiln/ops/product/einsum.hpp"

namespace kiln::onnx {
namespace {

// A product of matrices where an operand may be a vector: as NumPy's matmul.
Value product(const Value& a, const Value& b) {
  const bool row = a.rank() == 1, column = b.rank() == 1;
  Value result = matmul(row ? unsqueeze(a, 0) : a, column ? unsqueeze(b, 1) : b);
  if (column) result = squeeze(result, -1);
  if (row) result = squeeze(result, column ? -1 : -2);
  return result;
}

Results gemm(Call& c) {
  Value a = c[0], b = c[1];
  c.check(a.rank() == 2 && b.rank() == 2, "matrices are needed, not ", a.shape(), " and ", b.shape());
  if (c.i("transA", 0)) a = transpose(a);
  if (c.i("transB", 0)) b = transpose(b);
  const double alpha = c.f("alpha", 1), beta = c.f("beta", 1);
  Value result = matmul(a, b);
  if (alpha != 1) result = result * alpha;
  if (c.has(2) && beta != 0) result = result + (beta == 1 ? c[2] : c[2] * beta);
  return of_type(result, a.dtype());
}

Results contraction(Call& c) {
  std::string equation = c.s("equation", "");
  std::erase(equation, ' ');
  return of_type(einsum(equation, c.rest()), c[0].dtype());
}

constexpr OperatorRow kProductRows[] = {
    {"Det", 11, [](Call& c) -> Results { return det(c[0]); }},
    {"Einsum", 12, contraction, {.folds = false}},
    {"Gemm", 1, gemm, {.shape = shape_rules::gemm}},
    {"MatMul", 1, [](Call& c) -> Results { return product(c[0], c[1]); }, {.shape = shape_rules::matmul}},
};

}  // namespace

std::span<const OperatorRow> product_rows() { return kProductRows; }

}  // namespace kiln::onnx
