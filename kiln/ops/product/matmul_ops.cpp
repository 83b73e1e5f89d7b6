#include "kiln/ops/product/matmul_ops.hpp"

#include "kiln/ops/check.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/linalg/matrix.hpp"
#include "kiln/ops/scope/autocast.hpp"
#include "kiln/ops/view/view_ops.hpp"
#include "kiln/ops/vjp.hpp"

namespace kiln {
namespace op {
namespace {

// x^T g, the gradient of a right operand. Where that is a transposed view, as the weights of a layer are, it is made as
// (g^T x)^T: undoing the view then leaves a gradient that lies in memory as the weight does.
Value right_gradient(const Value& x, const Value& g, bool transposed) {
  return transposed ? transpose(matmul(transpose(g), x)) : matmul(transpose(x), g);
}

}  // namespace

Descs Matmul::infer(Inputs in) const {
  require_count(kName, in, 2, 2);
  require_tensor(kName, in[0]);
  require_tensor(kName, in[1]);
  require_same_dtype(kName, in[0], in[1]);
  const Shape &a = in[0].shape(), &b = in[1].shape();
  require<ShapeError>(a.size() >= 2 && b.size() >= 2, "matmul: ", a, " x ", b, ": both need at least two dimensions");
  const std::int64_t inner = a.back(), other = b[b.size() - 2];
  require<ShapeError>(inner == other, "matmul: ", a, " x ", b, ": inner dimensions ", inner, " and ", other, " differ");
  Shape shape = broadcast(kName, batch_of(a), batch_of(b));
  shape.push_back(a[a.size() - 2]);
  shape.push_back(b.back());
  return one(shape, in[0].dtype());
}

void Matmul::vjp(Backward& backward) const {
  const Value g = backward.grad();
  backward.to(0, [&] { return matmul(g, transpose(backward.in(1))); });
  backward.to(1, [&] {
    const Value& a = backward.in(0);
    const bool transposed = backward.made_by(1, Permute::kName);
    // One long product where a batch shares its right operand, rather than a sum over the batch's products.
    if (backward.in_desc(1).shape.size() == 2 && a.rank() > 2)
      return right_gradient(flatten(a, 0, -2), flatten(g, 0, -2), transposed);
    return right_gradient(a, g, transposed);
  });
}

double Matmul::flops(Inputs in, Inputs out) const {
  return 2.0 * static_cast<double>(out[0].numel()) * static_cast<double>(in[0].shape().back());
}

}  // namespace op

Value matmul(const Value& a, const Value& b) {
  op::require_tensor("matmul", a);
  op::require_tensor("matmul", b);
  DType dtype = promote(a.dtype(), b.dtype());
  if (dtype == DType::F32) dtype = autocast_dtype();  // straight there, not by way of float32
  require<DTypeError>(dtype != DType::Bool, "matmul: takes no ", a, " x ", b);
  return emit(op::Matmul{}, {cast(a, dtype), cast(b, dtype)});
}

}  // namespace kiln
