// The functions over Values of all rows of elementwise.def, including those that names.def does not list.
#pragma once
#include "kiln/ops/functions.hpp"

namespace kiln {

#define KILN_UNARY(Name, function, ...) Value function(const Value& x);
#define KILN_PREDICATE(Name, function, ...) Value function(const Value& x);
#define KILN_BINARY(Name, function, ...) Value function(const Value& x, const Value& y);
#define KILN_COMPARISON(Name, function, ...) Value function(const Value& x, const Value& y);
#include "kiln/ops/elementwise/elementwise.def"

}  // namespace kiln
