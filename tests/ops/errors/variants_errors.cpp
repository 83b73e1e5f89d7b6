// Wrong calls of special functions, combinations, masked statistics and tensor equations, and what they are told.
#include <gtest/gtest.h>

#include "kiln/autodiff/backward.hpp"
#include "kiln/ops/elementwise/numbers.hpp"
#include "kiln/ops/index/index.hpp"
#include "kiln/ops/linalg/linalg.hpp"
#include "kiln/ops/loss/loss.hpp"
#include "kiln/ops/reduce/calculus.hpp"
#include "kiln/ops/reduce/masked.hpp"
#include "kiln/ops/reduce/order.hpp"
#include "kiln/ops/reduce/statistics.hpp"
#include "kiln/ops/sequence/attention.hpp"
#include "kiln/ops/special/special.hpp"
#include "kiln/ops/view/diagonal.hpp"
#include "tests/support/wrong_call.hpp"

namespace kiln {
namespace {

Value tracked(const Shape& shape) { return ones(shape, Device::cpu().autodiff()).require_grad(); }

const WrongCall kVariantsCalls[] = {
    {"ArgumentError: bessel_j0: an operand is empty", [] { bessel_j0({}); }},
    {"ShapeError: igamma: [2] and [3] do not broadcast: 2 and 3 differ in dimension -1",
     [] { igamma(floats({2}), floats({3})); }},
    {"AutodiffError: igamma: has no gradient with respect to its first operand",
     [] { backward(sum(igamma(tracked({2}), 1.0))); }},
    {"ShapeError: betainc: [2] and [3] do not broadcast: 2 and 3 differ in dimension -1",
     [] { betainc(1.0, floats({2}), floats({3})); }},
    {"AutodiffError: betainc: has no gradient with respect to its first operand",
     [] { backward(sum(betainc(tracked({2}), 1.0, 0.5))); }},
    {"AutodiffError: betainc: has no gradient with respect to its second operand",
     [] { backward(sum(betainc(1.0, tracked({2}), 0.5))); }},
    {"AutodiffError: zeta: has no gradient with respect to its first operand",
     [] { backward(sum(zeta(tracked({2}), 1.0))); }},
    {"DTypeError: gcd: takes integers, got float32 [2] and 3", [] { gcd(floats({2}), 3); }},
    {"DTypeError: gcd: takes integers, got int64 [2] and 0.5", [] { gcd(integers({2}), 0.5); }},
    {"ArgumentError: gcd: needs a tensor, got 4 and 6", [] { gcd(4, 6); }},
    {"ArgumentError: mvlgamma: 0 dimensions are not 1 to 1000", [] { mvlgamma(floats({2}), 0); }},
    {"ArgumentError: round: 400 decimals are not -300 to 300", [] { round(floats({2}), 400); }},
    {"DTypeError: scatter_reduce: indices must be an integer tensor, got float32 [3]",
     [] { scatter_reduce(floats({3}), 0, floats({3}), floats({3}), Combine::Mean); }},
    {"DTypeError: index_reduce: indices must be an integer tensor, got float32 [3]",
     [] { index_reduce(floats({3}), 0, floats({3}), floats({3}), Combine::Mean); }},
    {"ShapeError: select_scatter: float32 [4] does not have the shape [3] of a slice of float32 [3, 4]",
     [] { select_scatter(floats({3, 4}), floats({4}), 1, 0); }},
    {"ShapeError: diagonal_scatter: float32 [4] does not have the shape [3] of the diagonal of float32 [3, 4]",
     [] { diagonal_scatter(floats({3, 4}), floats({4})); }},
    {"ShapeError: cov: the weights float32 [2] are not one for each of the 4 observations of float32 [3, 4]",
     [] { cov(floats({3, 4}), {.weights = floats({2})}); }},
    {"DTypeError: cov: frequencies must be integers, got float32 [4]",
     [] { cov(floats({3, 4}), {.frequencies = floats({4})}); }},
    {"ArgumentError: sort: needs a tensor, got 2", [] { sort(2.0, 0); }},
    {"ArgumentError: topk: needs a tensor, got 2", [] { topk(2.0, 1, 0); }},
    {"ArgumentError: searchsorted: needs a tensor, got 2", [] { searchsorted(2.0, floats({1})); }},
    {"ArgumentError: searchsorted: needs a tensor, got nothing", [] { searchsorted(floats({3}), {}); }},
    {"ShapeError: searchsorted: the sorter int64 [2] does not have the shape of float32 [3]",
     [] { searchsorted(floats({3}), floats({1}), false, integers({2})); }},
    {"ArgumentError: gradient: the order of the ends must be 1 or 2, got 3",
     [] { gradient(floats({5}), 1.0, Dims{}, 3); }},
    {"ShapeError: gradient: float32 [2] has 2 elements along dimension 0, which must be more than 2",
     [] { gradient(floats({2}), 1.0, Dims{}, 2); }},
    {"ShapeError: gradient: the places float32 [4] are not one for each of the 5 elements of dimension 0",
     [] { gradient(floats({5}), floats({4}), 0); }},
    {"ArgumentError: attention: a dropout of 1.5 is not between 0 and 1",
     [] { attention(floats({1, 1, 2, 2}), floats({1, 1, 2, 2}), floats({1, 1, 2, 2}), {.dropout = 1.5}); }},
    {"ShapeError: pdist: takes [rows, width], got float32 [3]", [] { pdist(floats({3})); }},
    {"ArgumentError: renorm: the limit must not be negative, got -1", [] { renorm(floats({3, 3}), 2, 0, -1); }},
    {"AutodiffError: ldl_factor: has no gradient; solve() has, or detach() the matrix",
     [] { ldl_factor(tracked({2, 2})); }},
    {"ShapeError: ldl_solve: [2, 2] and the right side [3, 1] do not fit",
     [] { ldl_solve(ldl_factor(floats({2, 2})), floats({3})); }},
    {"ShapeError: tensorsolve: [2, 3, 5] is not [2, 3] followed by dimensions of as many elements",
     [] { tensorsolve(floats({2, 3, 5}), floats({2, 3})); }},
    {"ShapeError: tensorinv: [2, 3] and [5] have 6 and 5 elements", [] { tensorinv(floats({2, 3, 5})); }},
    {"ArgumentError: tensorinv: 4 of the dimensions of float32 [2, 3, 5]", [] { tensorinv(floats({2, 3, 5}), 4); }},
    {"ShapeError: vander: needs a dimension, got float32 []", [] { vander(floats({})); }},
    {"ArgumentError: pinv: the cutoff must not be negative, got -2", [] { pinv(floats({2, 2}), 0, -2); }},
    {"ArgumentError: matrix_rank: the cutoff must not be negative, got -2", [] { matrix_rank(floats({2, 2}), 0, -2); }},
    {"DTypeError: masked_sum: the mask must be boolean, got float32 [2]",
     [] { masked_sum(floats({2}), floats({2}), {0}); }},
    {"ShapeError: masked_mean: the mask [2, 1] does not broadcast to float32 [2]",
     [] { masked_mean(floats({2}), gt(floats({2, 1}), 0), {0}); }},
    {"DTypeError: multilabel_margin_loss: indices must be an integer tensor, got float32 [2, 2]",
     [] { multilabel_margin_loss(floats({2, 2}), floats({2, 2})); }},
};

TEST(Variants, AnswerWrongCallsWithASentence) { expect_sentences(kVariantsCalls); }

}  // namespace
}  // namespace kiln
