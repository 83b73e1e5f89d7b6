// Numbers as C writes them.
#pragma once
#include <string>

#include "kiln/core/scalar.hpp"
#include "kiln/ops/expression/print.hpp"

namespace kiln::compile {

/// A number of an element type as a literal of the type that it is computed in; floats with as few digits as give the same
/// bits again.
std::string literal(expr::Printer& printer, const Scalar& number, DType dtype);

}  // namespace kiln::compile
