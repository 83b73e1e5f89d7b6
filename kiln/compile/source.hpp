// Prints a planned program as a header and a source file.
#pragma once
#include <string>
#include <vector>

#include "kiln/compile/program.hpp"
#include "kiln/compile/target.hpp"

namespace kiln::compile {

/// The identifiers that files are printed with.
struct Names {
  std::string model;
  std::vector<std::string> inputs, outputs;
};

struct SourceText {
  std::string header, source;
  std::int64_t functions = 0;
};
SourceText printed(const Program& program, const Names& names, const Target& target);

}  // namespace kiln::compile
