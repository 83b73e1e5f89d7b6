// The rows of elementwise.def as trees, over the variables x and y.
#pragma once
#include "kiln/ops/elementwise/elementwise_ops.hpp"
#include "kiln/ops/expression/tree.hpp"

namespace kiln::expr {

/// Parsed at the first call; the same tree ever after.
const Tree& tree(op::UnaryFn fn);
const Tree& tree(op::BinaryFn fn);

/// Is a function of this domain computed for elements of `dtype`? Others are cast first.
bool computes(op::Domain domain, DType dtype);

inline constexpr std::size_t kUnaryCount = 0
#define KILN_UNARY(...) +1
#define KILN_PREDICATE(...) +1
#define KILN_BINARY(...)
#define KILN_COMPARISON(...)
#include "kiln/ops/elementwise/elementwise.def"
    ;
inline constexpr std::size_t kBinaryCount = 0
#define KILN_UNARY(...)
#define KILN_PREDICATE(...)
#define KILN_BINARY(...) +1
#define KILN_COMPARISON(...) +1
#include "kiln/ops/elementwise/elementwise.def"
    ;

}  // namespace kiln::expr
