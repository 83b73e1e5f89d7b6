// The enumerators of elementwise functions: the rows of elementwise.def. Sources that name one, or that compile code
// for each row, include this; others only pass UnaryFn and BinaryFn on, and need not be compiled again for a new row.
#pragma once
#include "kiln/ops/elementwise/elementwise_ops.hpp"

namespace kiln::op {

enum class UnaryFn : std::uint8_t {
#define KILN_UNARY(Name, ...) Name,
#define KILN_PREDICATE(Name, ...) Name,
#define KILN_BINARY(...)
#define KILN_COMPARISON(...)
#include "kiln/ops/elementwise/elementwise.def"
};

enum class BinaryFn : std::uint8_t {
#define KILN_UNARY(...)
#define KILN_PREDICATE(...)
#define KILN_BINARY(Name, ...) Name,
#define KILN_COMPARISON(Name, ...) Name,
#include "kiln/ops/elementwise/elementwise.def"
};

}  // namespace kiln::op
