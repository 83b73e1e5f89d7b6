// The functions of expressions that C++ has: what scalar_math.hpp calls by their names.
#pragma once
#include "kiln/ops/expression/evaluate.hpp"

namespace kiln::expr {

template <class T>
using Compiled = Cell<T> (*)(const Cell<T>* operands);
/// Null where C++ has none for numbers of T: the library's definition is all there is.
template <class T>
Compiled<T> compiled(const Function& function);

}  // namespace kiln::expr
