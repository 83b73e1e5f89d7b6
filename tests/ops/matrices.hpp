// Linear algebra as a textbook's first chapter has it, on small matrices of doubles: what rows of tests/ops compare
// Kiln's functions with. Determinants by cofactors, solutions by Cramer's rule, orthogonal bases by Gram and Schmidt,
// eigenvalues by unshifted QR steps; nothing here is what a kernel does.
#pragma once
#include "tests/ops/harness.hpp"

namespace kiln::test {

/// f of the matrices (or, for `ranks` of 1, vectors) of each operand, whose batches broadcast. A result's shape is the
/// batch followed by what f gives.
std::vector<Array> each_in_batch(const std::vector<Array>& in, const std::vector<int>& ranks,
                                 const std::function<std::vector<Array>(const std::vector<Array>&)>& f);

Array scalar(double value);
Array transposed(const Array& a);
Array product(const Array& a, const Array& b);
Array identity(std::int64_t n);
Array symmetric_part(const Array& a);
Array triangle(const Array& a, bool upper);
/// a with `by` * (i + 1) added to its diagonal: away from singular, with eigenvalues apart.
Array shifted(Array a, double by);
Value shifted(const Value& a, double by);

double determinant(const Array& a);
Array inverted(const Array& a);
/// The Moore-Penrose inverse of a matrix of full rank.
Array pseudo_inverse(const Array& a);
Array cholesky_factor(const Array& a);
/// q and r in the reduced form.
std::vector<Array> gram_schmidt(const Array& a);
/// Ascending eigenvalues and their vectors, which point as Kiln's.
std::vector<Array> eigen(const Array& a);
/// u, s, vt in the reduced form.
std::vector<Array> singular(const Array& a);
Array exponential(const Array& a);

}  // namespace kiln::test
