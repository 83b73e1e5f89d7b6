// Elements of one type as another's, as text: by the rules of kiln/core/convert.hpp, on any device.
#pragma once
#include "kiln/ops/expression/print.hpp"

namespace kiln::expr {

/// `name`, a variable that holds an element of `from` in what that is computed in, as one of `to`.
std::string converted(Printer& printer, const std::string& name, DType from, DType to);
/// What a step made in what `dtype` is computed in, brought to an element of `dtype`: halves are rounded, short
/// integers keep their low bits.
std::string narrowed(Printer& printer, const std::string& value, DType dtype);
/// Can the dialect convert elements of one type to the other?
bool converts(const Dialect& dialect, DType from, DType to);

/// How elements are kept in memory: halves as their bits, booleans as 0 or 1.
std::string_view stored_type(const Dialect& dialect, DType dtype);
/// `bits`, an element as it is stored, as what it is computed in; and the reverse.
std::string loaded(Printer& printer, const std::string& bits, DType dtype);
std::string stored(Printer& printer, const std::string& value, DType dtype);

}  // namespace kiln::expr
