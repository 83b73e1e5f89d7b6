// What wrong calls of linear algebra are told, and that both kernels of a factorisation say the same.
#include <gtest/gtest.h>

#include <cmath>

#include "kiln/ops/linalg/linalg.hpp"
#include "tests/support/wrong_call.hpp"

namespace kiln {
namespace {

const WrongCall kLinalgCalls[] = {
    {"ShapeError: cholesky: needs square matrices, got float32 [2, 3]", [] { return cholesky(floats({2, 3})); }},
    {"ShapeError: cholesky: needs matrices [..., m, n], got float32 [3]", [] { return cholesky(floats({3})); }},
    {"ShapeError: eigh: needs square matrices, got float32 [2, 3]", [] { return eigh(floats({2, 3})).w; }},
    {"ShapeError: eigvalsh: needs square matrices, got float32 [2, 3]", [] { return eigvalsh(floats({2, 3})); }},
    {"ShapeError: svd: needs matrices [..., m, n], got float32 [2]", [] { return svd(floats({2})).s; }},
    {"ShapeError: svd: needs matrices [..., m, n], got float32 []", [] { return svdvals(floats({})); }},
    {"ShapeError: qr: needs matrices [..., m, n], got float32 [2]", [] { return qr(floats({2})).r; }},
    {"ShapeError: lu: needs matrices [..., m, n], got float32 [2]", [] { return lu(floats({2})).p; }},
    {"ArgumentError: solve: needs a tensor, got 2", [] { return solve(2, floats({2})); }},
    {"ShapeError: solve: needs square matrices, got float32 [2, 3]", [] { return solve(floats({2, 3}), floats({2})); }},
    {"ShapeError: solve: [2, 2] and the right side [3, 1] do not fit: 2 and 3 rows",
     [] { return solve(floats({2, 2}), floats({3})); }},
    {"ShapeError: solve: [2] and [3] do not broadcast: 2 and 3 differ in dimension -1",
     [] { return solve(floats({2, 2, 2}), floats({3, 2, 1})); }},
    {"ShapeError: solve: the right side needs a dimension, got float32 []",
     [] { return solve(floats({2, 2}), floats({})); }},
    {"ShapeError: inverse: needs square matrices, got float32 [2, 3]", [] { return inverse(floats({2, 3})); }},
    {"ShapeError: triangular_solve: [2, 2] and the right side [3, 2] do not fit: 2 and 3 rows",
     [] { return triangular_solve(floats({2, 2}), floats({2, 3}), {.left = false}); }},
    {"ShapeError: lu_solve: [2, 2] and the right side [3, 1] do not fit",
     [] { return lu_solve(lu_factor(floats({2, 2})), floats({3, 1})); }},
    {"ShapeError: lu_solve: [2, 2] and the right side [2, 3] do not fit",
     [] { return lu_solve(lu_factor(floats({2, 2})), floats({2, 3}), {.left = false}); }},
    {"ShapeError: lu_solve: the right side needs a dimension, got float32 []",
     [] { return lu_solve(lu_factor(floats({2, 2})), floats({})); }},
    {"ShapeError: cond: float32 [0, 0] has no elements", [] { return cond(floats({0, 0}), MatrixNorm::MinusTwo); }},
    {"ShapeError: matrix_norm: float32 [2, 0] has no elements",
     [] { return matrix_norm(floats({2, 0}), MatrixNorm::MinusTwo); }},
    {"ShapeError: lstsq: [3, 2] and the right side [2] do not fit: 3 and 2 rows",
     [] { return lstsq(floats({3, 2}), floats({2})); }},
    {"ArgumentError: pinv: the cutoff must not be negative, got -0.5", [] { return pinv(floats({3, 2}), -0.5); }},
    {"ArgumentError: matrix_rank: the cutoff must not be negative, got -2",
     [] { return matrix_rank(floats({3, 2}), -2); }},
    {"ShapeError: det: needs square matrices, got float32 [2, 3]", [] { return det(floats({2, 3})); }},
    {"ShapeError: slogdet: needs square matrices, got float32 [2, 3]", [] { return slogdet(floats({2, 3})).sign; }},
    {"ShapeError: cond: needs square matrices, got float32 [2, 3]", [] { return cond(floats({2, 3})); }},
    {"ShapeError: cond: float32 [0, 0] has no elements", [] { return cond(floats({0, 0})); }},
    {"ShapeError: matrix_norm: float32 [0, 2] has no elements",
     [] { return matrix_norm(floats({0, 2}), MatrixNorm::Spectral); }},
    {"ShapeError: matrix_norm: needs matrices [..., m, n], got float32 [2]", [] { return matrix_norm(floats({2})); }},
    {"ShapeError: matrix_power: needs square matrices, got float32 [2, 3]",
     [] { return matrix_power(floats({2, 3}), 2); }},
    {"ShapeError: matrix_exp: needs square matrices, got float32 [2, 3]", [] { return matrix_exp(floats({2, 3})); }},
    {"ArgumentError: vector_norm: p is NaN", [] { return vector_norm(floats({2}), NAN); }},
    {"IndexError: euclidean_length: dimension 3 is out of range for rank 2", [] { return l2_norm(floats({2, 2}), 3); }},
    {"IndexError: cosine_similarity: dimension -1 is out of range for rank 0",
     [] { return cosine_similarity(floats({}), floats({})); }},
    {"ShapeError: cdist: float32 [2, 3] and float32 [2, 4] have rows of 3 and 4 elements",
     [] { return cdist(floats({2, 3}), floats({2, 4})); }},
    {"ArgumentError: cdist: through matmul p must be 2, got 1",
     [] { return cdist(floats({2, 3}), floats({2, 3}), 1, true); }},
    {"ShapeError: dot: needs 1 dimension, got float32 [2, 2]", [] { return dot(floats({2, 2}), floats({2})); }},
    {"ShapeError: dot: float32 [2] and float32 [3] differ in length", [] { return dot(floats({2}), floats({3})); }},
    {"ShapeError: vdot: [2] and [1, 2] differ", [] { return vdot(floats({2}), floats({1, 2})); }},
    {"ShapeError: vecdot: needs at least 1 dimension, got float32 []", [] { return vecdot(floats({}), floats({2})); }},
    {"ShapeError: outer: needs at least 1 dimension, got float32 []", [] { return outer(floats({2}), floats({})); }},
    {"ShapeError: cross: dimension -1 of [2] x [2] has size 2, not 3", [] { return cross(floats({2}), floats({2})); }},
    {"ShapeError: matvec: [2, 3] x [2]: 3 and 2 differ", [] { return matvec(floats({2, 3}), floats({2})); }},
    {"ShapeError: mm: needs 2 dimensions, got float32 [1, 2, 2]", [] { return mm(floats({1, 2, 2}), floats({2, 2})); }},
    {"ShapeError: bmm: [2, 2, 2] x [1, 2, 2]: batches of 2 and 1",
     [] { return bmm(floats({2, 2, 2}), floats({1, 2, 2})); }},
    {"ShapeError: addmm: [5, 2, 2] does not broadcast to the product [2, 2]",
     [] { return addmm(floats({5, 2, 2}), floats({2, 2}), floats({2, 2})); }},
    {"ArgumentError: multi_dot: needs at least two factors, got 1",
     [] {
       const Value factors[] = {floats({2, 2})};
       return multi_dot(factors);
     }},
    {"ShapeError: multi_dot: factor 1 is [2, 2] after [2, 3]",
     [] {
       const Value factors[] = {floats({2, 3}), floats({2, 2})};
       return multi_dot(factors);
     }},
    {"ShapeError: tensordot: dimension 1 of [2, 3] and dimension 0 of [2] differ",
     [] { return tensordot(floats({2, 3}), floats({2}), {1}, {0}); }},
    {"ArgumentError: tensordot: a dimension is named twice in [0, -2] or [0, 1]",
     [] { return tensordot(floats({2, 2}), floats({2, 2}), {0, -2}, {0, 1}); }},
    {"ArgumentError: tensordot: [0] and [] differ in length",
     [] { return tensordot(floats({2, 2}), floats({2, 2}), {0}, {}); }},
    {"ArgumentError: tensordot: 2 dimensions of [2, 2] and [2]",
     [] { return tensordot(floats({2, 2}), floats({2}), 2); }},
    {"ShapeError: kron: float32 [1, 1, 1, 1, 1] and float32 [2] have more than 4 dimensions",
     [] { return kron(floats({1, 1, 1, 1, 1}), floats({2})); }},
    {"ArgumentError: einsum: 'ij,jk->ik' has 2 operands, got 1", [] { return einsum("ij,jk->ik", {floats({2, 2})}); }},
    {"ShapeError: einsum: 'ijk->' gives operand 0 3 dimensions, it is float32 [2, 2]",
     [] { return einsum("ijk->", {floats({2, 2})}); }},
    {"ShapeError: einsum: 'ijk...->' gives operand 0 at least 3 dimensions, it is float32 [2, 2]",
     [] { return einsum("ijk...->", {floats({2, 2})}); }},
    {"ShapeError: einsum: 'ij,jk' has a label of sizes 3 and 2",
     [] { return einsum("ij,jk", {floats({2, 3}), floats({2, 2})}); }},
    {"ShapeError: einsum: 'ii' takes the diagonal of dimensions 0 and 1 of operand 0, which is float32 [2, 3]",
     [] { return einsum("ii", {floats({2, 3})}); }},
    {"ArgumentError: einsum: 'i1': '1' is not a label", [] { return einsum("i1", {floats({2, 3})}); }},
    {"ArgumentError: einsum: 'i.j': '.' is not a label", [] { return einsum("i.j", {floats({2, 3})}); }},
    {"ArgumentError: einsum: '...i...': '.' is not a label", [] { return einsum("...i...", {floats({2, 3})}); }},
    {"ArgumentError: einsum: 'i->j': the result has a label that no operand has",
     [] { return einsum("i->j", {floats({2})}); }},
    {"ArgumentError: einsum: 'i->ii': the result has a label twice", [] { return einsum("i->ii", {floats({2})}); }},
    {"ArgumentError: einsum: 'i->i->i': '-' is not a label", [] { return einsum("i->i->i", {floats({2})}); }},
};

TEST(LinalgErrors, AreSentences) { expect_sentences(kLinalgCalls); }

/// [2, 2, 2, 2]: matrices of which number [1, 0] is `odd`, the others the identity.
Value batch_with(const std::vector<double>& odd, const Device& device, DType dtype) {
  std::vector<double> numbers{1, 0, 0, 1, 1, 0, 0, 1};
  numbers.insert(numbers.end(), odd.begin(), odd.end());
  numbers.insert(numbers.end(), {1, 0, 0, 1});
  return from_data(TensorData::of<double>({2, 2, 2, 2}, std::span<const double>(numbers)).to(dtype), device);
}

TEST(LinalgErrors, NameTheMatrixOfTheBatch) {
  for (const char* name : {"cpu", "reference"}) {
    for (const DType dtype : {DType::F32, DType::F64}) {
      const Device device = Device::parse(name);
      const std::string matrix = text("matrix [1, 0] of ", dtype, " [2, 2, 2, 2]");
      const Value singular = batch_with({1, 2, 2, 4}, device, dtype), b = ones({2, 1}, device, dtype);
      const Value zero = batch_with({1, 0, 3, 0}, device, dtype), nan = batch_with({1, NAN, 0, 1}, device, dtype);
      const Value infinite = batch_with({1, INFINITY, 0, 1}, device, dtype);
      const Value indefinite = batch_with({1, 2, 2, 1}, device, dtype);
      EXPECT_EQ(sentence_of([&] { cholesky(indefinite); }),
                "ArgumentError: cholesky: " + matrix + " is not positive definite");
      EXPECT_EQ(sentence_of([&] { cholesky(nan); }),
                "ArgumentError: cholesky: " + matrix + " is not positive definite");
      EXPECT_EQ(sentence_of([&] { solve(singular, b); }), "ArgumentError: solve: " + matrix + " is singular");
      EXPECT_EQ(sentence_of([&] { inverse(singular); }), "ArgumentError: inverse: " + matrix + " is singular");
      EXPECT_EQ(sentence_of([&] { triangular_solve(zero, b); }),
                "ArgumentError: triangular_solve: " + matrix + " is singular: element 1 of its diagonal is 0");
      EXPECT_EQ(sentence_of([&] { svd(nan); }), "ArgumentError: svd: " + matrix + " contains NaN or infinity");
      EXPECT_EQ(sentence_of([&] { svdvals(infinite); }), "ArgumentError: svd: " + matrix + " contains NaN or infinity");
      EXPECT_EQ(sentence_of([&] { eigh(nan); }), "ArgumentError: eigh: " + matrix + " contains NaN or infinity");
      EXPECT_EQ(sentence_of([&] { inverse(zeros({1, 1}, device, dtype)); }),
                text("ArgumentError: inverse: ", dtype, " [1, 1] is singular"));
    }
  }
}

}  // namespace
}  // namespace kiln
