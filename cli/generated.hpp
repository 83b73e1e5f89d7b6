// Runs the standard's tests through generated code.
#pragma once
#include "cli/commands.hpp"
#include "kiln/onnx/generate/generate.hpp"

namespace kiln::cli {

/// Writes the generated code and the weights below the directory.
void write_code(const onnx::GeneratedCode& code, const std::string& directory);

/// Generates the models of all tests, compiles them, a hundred per file, and runs them. Returns whether all pass;
/// `print` receives each line as it comes. Throws IoError if CMake, a compiler or Kiln is not found, with CMake's
/// output.
bool test_generated(const OnnxTestOptions& options, const Print& print);

}  // namespace kiln::cli
