// Conversion of elements between types, as text: by the rules of kiln/core/convert.hpp, on any device.
#pragma once
#include "kiln/ops/expression/print.hpp"

namespace kiln::expr {

/// Converts `name`, a variable that holds an element of `from` in the type `from` is computed in, to `to`.
std::string converted(Printer& printer, const std::string& name, DType from, DType to);
/// Rounds the result of a step, in the type that `dtype` is computed in, to an element of `dtype`: halves are rounded,
/// short integers keep their low bits.
std::string narrowed(Printer& printer, const std::string& value, DType dtype);
/// Whether the dialect can convert elements of one type to the other.
bool converts(const Dialect& dialect, DType from, DType to);

/// The type of elements in memory: halves as their bits, booleans as 0 or 1.
std::string_view stored_type(const Dialect& dialect, DType dtype);
/// Converts `bits`, an element as stored, to the type it is computed in; `stored` does the reverse.
std::string loaded(Printer& printer, const std::string& bits, DType dtype);
std::string stored(Printer& printer, const std::string& value, DType dtype);

}  // namespace kiln::expr
