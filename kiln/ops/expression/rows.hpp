// The rows of elementwise.def as trees over the variables x and y, and the functions of special.def, over x, y and w.
#pragma once
#include "kiln/ops/elementwise/elementwise_ops.hpp"
#include "kiln/ops/expression/tree.hpp"
#include "kiln/ops/special/special_ops.hpp"

namespace kiln::expr {

/// Parsed at the first call; later calls return the same tree.
const Tree& tree(op::UnaryFn fn);
const Tree& tree(op::BinaryFn fn);
/// Computed in floats only.
const Tree& tree(op::SpecialFn fn);
/// The tree of op::Gcd, for integers.
const Tree& greatest_common_divisor();

/// The number of operands of a function.
int arity(op::SpecialFn fn);

/// Whether a function of this domain is computed for elements of `dtype`; other elements are cast first.
bool computes(op::Domain domain, DType dtype);

inline constexpr std::size_t kSpecialCount = 0
#define KILN_SPECIAL_OF_1(...) +1
#define KILN_SPECIAL_OF_2(...) +1
#define KILN_SPECIAL_OF_3(...) +1
#include "kiln/ops/special/special.def"
    ;

}  // namespace kiln::expr
