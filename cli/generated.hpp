// The standard's tests through generated code.
#pragma once
#include "cli/commands.hpp"
#include "kiln/onnx/generate/generate.hpp"

namespace kiln::cli {

/// Writes what was generated, and the weights, below the directory.
void write_code(const onnx::GeneratedCode& code, const std::string& directory);

/// Generates the models of all tests, compiles them, a hundred in a file, and runs them. Throws IoError where there is no
/// CMake, no compiler or no Kiln to be found, with what CMake said. Whether all pass; `print` gets each line as it comes.
bool test_generated(const OnnxTestOptions& options, const Print& print);

}  // namespace kiln::cli
