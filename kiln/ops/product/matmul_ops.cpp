#include "kiln/ops/product/matmul_ops.hpp"

#include <algorithm>

#include "kiln/ops/check.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/linalg/matrix.hpp"
#include "kiln/ops/product/products.hpp"
#include "kiln/ops/scope/autocast.hpp"
#include "kiln/ops/view/view_ops.hpp"
#include "kiln/ops/vjp.hpp"

namespace kiln {
namespace op {
namespace {

// x^T g, the gradient of a right operand. If that operand is a transposed view, like the weight of a layer, it is
// computed as (g^T x)^T: undoing the view then leaves a gradient with the memory layout of the weight.
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
    // Where a batch shares its right operand, one long product replaces a sum over the batch's products.
    if (backward.in_desc(1).shape.size() == 2 && a.rank() > 2)
      return right_gradient(flatten(a, 0, -2), flatten(g, 0, -2), transposed);
    return right_gradient(a, g, transposed);
  });
}

double Matmul::flops(Inputs in, Inputs out) const {
  return 2.0 * static_cast<double>(out[0].numel()) * static_cast<double>(in[0].shape().back());
}

namespace {

void require_byte(std::string_view name, const Value& x) {
  require_tensor(name, x);
  require<DTypeError>(x.dtype() == DType::U8 || x.dtype() == DType::I8, name, ": needs a tensor of int8 or uint8, got ",
                      x);
}

/// Checks a zero point: it is absent, or has x's type and broadcasts to `shape`.
void require_zero(std::string_view name, Inputs in, std::size_t slot, const Value& x, const Shape& shape) {
  if (in.size() <= slot || in[slot].empty()) return;
  const Value& zero = in[slot];
  require_tensor(name, zero);
  require_same_dtype(name, x, zero);
  require<ShapeError>(zero.rank() <= shape.size() && broadcast(name, zero.shape(), shape) == shape, name,
                      ": a zero point of shape ", zero.shape(), " does not fit ", x.shape(), ", which takes ", shape);
}

/// x minus its zero point, which is exact.
Value steps(const Value& x, Inputs in, std::size_t zero, DType dtype) {
  const Value wide = cast(x, dtype);
  return in.size() > zero && in[zero] ? wide - cast(in[zero], dtype) : wide;
}

}  // namespace

Descs MatmulInteger::infer(Inputs in) const {
  require_count(kName, in, 2, 4);
  require_byte(kName, in[a]);
  require_byte(kName, in[b]);
  const Shape &left = in[a].shape(), &right = in[b].shape();
  require<ShapeError>(left.size() >= 2 && right.size() >= 2, kName, ": ", left, " x ", right,
                      ": both need at least two dimensions");
  require<ShapeError>(left.back() == right[right.size() - 2], kName, ": ", left, " x ", right, ": inner dimensions ",
                      left.back(), " and ", right[right.size() - 2], " differ");
  Shape rows = left, columns = right;
  rows.back() = 1;
  columns[right.size() - 2] = 1;
  require_zero(kName, in, a_zero, in[a], rows);
  require_zero(kName, in, b_zero, in[b], columns);
  Shape shape = broadcast(kName, batch_of(left), batch_of(right));
  shape.push_back(left[left.size() - 2]);
  shape.push_back(right.back());
  return one(shape, DType::I32);
}

// Products of float32 are several times as fast as those of int32, and exact as long as sums stay below 2^24: longer
// sums are split.
Values MatmulInteger::expand(Inputs in) const {
  constexpr std::int64_t kFarthest = 255, kAtOnce = (std::int64_t{1} << 24) / (kFarthest * kFarthest), kMostParts = 16;
  const std::int64_t depth = in[a].dim(-1);
  if (depth > kMostParts * kAtOnce)
    return {emit(Matmul{}, {steps(in[a], in, a_zero, DType::I32), steps(in[b], in, b_zero, DType::I32)})};
  const Value left = steps(in[a], in, a_zero, DType::F32), right = steps(in[b], in, b_zero, DType::F32);
  const std::int64_t parts = std::max<std::int64_t>(1, (depth + kAtOnce - 1) / kAtOnce),
                     part = std::max<std::int64_t>(1, (depth + parts - 1) / parts);
  Value sum;
  for (std::int64_t from = 0; from == 0 || from < depth; from += part) {
    const std::int64_t some = std::min(part, depth - from);
    const Value product = emit(Matmul{}, {narrow(left, -1, from, some), narrow(right, -2, from, some)});
    sum = sum.empty() ? cast(product, DType::I32) : sum + cast(product, DType::I32);
  }
  return {sum};
}

double MatmulInteger::flops(Inputs in, Inputs out) const {
  return 2.0 * static_cast<double>(out[0].numel()) * static_cast<double>(in[a].shape().back());
}

}  // namespace op

Value matmul_integer(const Value& a, const Value& b, const Value& a_zero, const Value& b_zero) {
  if (a_zero || b_zero) return emit(op::MatmulInteger{}, {a, b, a_zero, b_zero});
  return emit(op::MatmulInteger{}, {a, b});
}

Value matmul(const Value& a, const Value& b) {
  op::require_tensor("matmul", a);
  op::require_tensor("matmul", b);
  DType dtype = promote(a.dtype(), b.dtype());
  if (dtype == DType::F32) dtype = autocast_dtype();  // cast directly to `dtype`, not through float32
  require<DTypeError>(dtype != DType::Bool, "matmul: takes no ", a, " x ", b);
  return emit(op::Matmul{}, {cast(a, dtype), cast(b, dtype)});
}

}  // namespace kiln
