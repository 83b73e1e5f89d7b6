// The functions of expressions that exist in C++: those that scalar_math.hpp calls by these names.
#pragma once
#include "kiln/ops/expression/evaluate.hpp"

namespace kiln::expr {

template <class T>
using Compiled = Cell<T> (*)(const Cell<T>* operands);
/// Returns null where C++ has no such function for numbers of T; the library's definition is used then.
template <class T>
Compiled<T> compiled(const Function& function);

}  // namespace kiln::expr
