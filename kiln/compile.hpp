// Includes the compiler of captured graphs to C without a heap. For ONNX files there is kiln/compile/onnx.hpp, in the
// component compile_onnx.
#pragma once
#include "kiln/compile/compile.hpp"
#include "kiln/compile/target.hpp"
