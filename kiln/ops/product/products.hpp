// Products of vectors, matrices and tensors. Element types promote.
#pragma once
#include "kiln/ops/functions.hpp"

namespace kiln {

// ---- of vectors ------------------------------------------------------------------------------------------------------
/// [n] . [n] -> []
Value dot(const Value& x, const Value& y);
/// The dot product of all elements of two tensors of one shape.
Value vdot(const Value& x, const Value& y);
/// The sum of x * y along `dim`; operands broadcast.
Value vecdot(const Value& x, const Value& y, Dim dim = -1);
/// [..., m] and [..., n] -> [..., m, n]; leading dimensions broadcast.
Value outer(const Value& x, const Value& y);
/// The vector product along `dim`, of size 3; operands broadcast.
Value cross(const Value& x, const Value& y, Dim dim = -1);

// ---- of matrices -----------------------------------------------------------------------------------------------------
/// [..., m, n] x [..., n] -> [..., m]; leading dimensions broadcast.
Value matvec(const Value& a, const Value& x);
/// Matrix products of exactly two and exactly three dimensions, without broadcasting.
Value mm(const Value& a, const Value& b);
Value bmm(const Value& a, const Value& b);
/// beta * c + alpha * (a x b), where c broadcasts to the product; where beta is 0, c is not read.
struct AddmmOptions {
  Scalar beta = 1, alpha = 1;
};
Value addmm(const Value& c, const Value& a, const Value& b, const AddmmOptions& options = {});
Value baddbmm(const Value& c, const Value& a, const Value& b, const AddmmOptions& options = {});
/// addmv multiplies a matrix [m, n] with a vector [n], addr computes the outer product of two vectors.
Value addmv(const Value& c, const Value& a, const Value& x, const AddmmOptions& options = {});
Value addr(const Value& c, const Value& x, const Value& y, const AddmmOptions& options = {});
/// The product of two or more matrices in the order that needs the fewest multiplications; the first and the last may
/// be vectors.
Value multi_dot(Inputs factors);

// ---- of tensors ------------------------------------------------------------------------------------------------------
/// Sums over the products of dims_a[i] of a and dims_b[i] of b; the other dimensions of a, then of b, remain.
Value tensordot(const Value& a, const Value& b, const Dims& dims_a, const Dims& dims_b);
/// Sums over the last `count` dimensions of a and the first `count` of b.
Value tensordot(const Value& a, const Value& b, int count = 2);
/// Element [i * p + k, j * q + l] is a[i, j] * b[k, l] for b [p, q]; up to four dimensions work in the same way.
Value kron(const Value& a, const Value& b);

/// The product of int8 or uint8 a [..., m, k] and b [..., k, n], each minus its zero point: int32 [..., m, n], whose
/// sums wrap around. A zero point is a tensor of its operand's type, of one element, [..., m, 1] or [..., 1, n], or
/// absent: 0.
Value matmul_integer(const Value& a, const Value& b, const Value& a_zero = {}, const Value& b_zero = {});

}  // namespace kiln
