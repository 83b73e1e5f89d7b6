// ONNX files as programs to compile.
#pragma once
#include "kiln/compile/compile.hpp"
#include "kiln/onnx/summary.hpp"

namespace kiln::compile {

/// The program of an .onnx file for inputs of these sizes. Weights that are 8-bit integers stay so, and so do activations
/// that the file quantises. Throws what onnx::load throws, and ArgumentError with the names of all sizes that the file
/// leaves free and `sizes` does not give, or where the program depends on what an input holds.
Source onnx_source(const std::string& path, const onnx::Sizes& sizes = {});

}  // namespace kiln::compile
