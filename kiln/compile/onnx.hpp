// ONNX files as programs to compile.
#pragma once
#include "kiln/compile/compile.hpp"
#include "kiln/onnx/summary.hpp"

namespace kiln::compile {

/// The elements of inputs that are constants of the program, in row-major order, by the inputs' names: shapes, axes.
using FixedInputs = std::map<std::string, std::vector<double>, std::less<>>;

/// The program of an .onnx file for inputs of these sizes, without those that are fixed. Weights that are 8-bit integers
/// stay so, and so do activations that the file quantises. Throws what onnx::load throws, and ArgumentError with the names
/// of all sizes that the file leaves free and `sizes` does not give, where the program depends on what an input holds that
/// is not fixed, and for fixed elements that are not the input's.
Source onnx_source(const std::string& path, const onnx::Sizes& sizes = {}, const FixedInputs& fixed = {});

}  // namespace kiln::compile
