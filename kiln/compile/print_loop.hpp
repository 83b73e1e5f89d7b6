// Prints a loop as a C function.
#pragma once
#include "kiln/compile/program.hpp"
#include "kiln/ops/expression/print.hpp"

namespace kiln::compile {

/// A function's text without its name, and how it is called: loops that differ in buffers alone are one function.
struct LoopText {
  std::string parameters, body;
  // In order, and whether it is written. The body adds offsets that are negative, the caller those that are not.
  std::vector<std::pair<Access, bool>> arguments;
  bool may_fail = false;  // it returns whether an index was out of range
};

/// The type of elements in the memory that a loop reads and writes: the arena holds other types at other times.
std::string memory_type(DType dtype);

LoopText printed(const Program& program, const Loop& loop, expr::Printer& printer);

}  // namespace kiln::compile
