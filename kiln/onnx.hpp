// Includes ONNX files: loaded and run, written, described, and turned into C++.
#pragma once
#include "kiln/onnx/apply.hpp"
#include "kiln/onnx/generate/generate.hpp"
#include "kiln/onnx/model.hpp"
#include "kiln/onnx/save.hpp"
#include "kiln/onnx/summary.hpp"
