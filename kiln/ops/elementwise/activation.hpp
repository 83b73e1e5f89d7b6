// Activation functions with options, and those that combine several elements. Functions of a single element are rows of
// elementwise.def: relu, gelu, silu, mish, hard_swish, elu(x, alpha), celu(x, alpha), hard_shrink(x, bound), ... Where
// a function has a kink, its gradient there is that of the flat side.
#pragma once
#include "kiln/ops/functions.hpp"

namespace kiln {

/// x, or weight * x where x is negative. `weight` has one element, or one for each element of dimension 1 of x.
Value prelu(const Value& x, const Value& weight);
/// x brought into [low, high].
Value hardtanh(const Value& x, double low = -1, double high = 1);
/// scale * x + offset brought into [0, 1].
Value hard_sigmoid(const Value& x, double scale, double offset);
/// log(1 + exp(beta x)) / beta, and x itself where beta x is above `threshold`.
Value softplus(const Value& x, double beta, double threshold = 20);
/// `value` where x is not above `limit`.
Value threshold(const Value& x, double limit, double value);
/// x moved towards 0 by `bias` where |x| > bound, else 0.
Value shrink(const Value& x, double bound = 0.5, double bias = 0);
/// a * sigmoid(b) of the two halves of x along `dim`.
Value glu(const Value& x, Dim dim = -1);

/// softmax of -x
Value softmin(const Value& x, Dim dim);
/// exp(x) / (1 + sum of exp(x)): a softmax with one more score, of 0, whose result is left out, so that a row may add
/// up to less than 1 (E. Miller, "Attention is off by one", 2023).
Value quiet_softmax(const Value& x, Dim dim);

}  // namespace kiln
