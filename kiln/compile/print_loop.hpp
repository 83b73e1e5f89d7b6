// Prints a loop as a C function.
#pragma once
#include "kiln/compile/program.hpp"
#include "kiln/ops/expression/print.hpp"

namespace kiln::compile {

/// A function's text without its name, and how it is called: loops that differ in buffers alone are one function.
struct LoopText {
  std::string parameters, body;
  std::vector<std::pair<Access, bool>> arguments;  // in order, and whether it is written
  bool may_fail = false;                           // it returns whether an index was out of range
};

LoopText printed(const Program& program, const Loop& loop, expr::Printer& printer);

}  // namespace kiln::compile
