// Programs that tests write as ONNX files: to load them again, and to have them run by ONNX Runtime.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "kiln/onnx/save.hpp"

namespace kiln::onnx::test {

struct Sample {
  std::string name;
  std::function<Values(const Values&)> function;
  Values examples;
  SaveOptions options = {};
  Values others = {};  // inputs of other sizes, where some are free
};

/// Models whose parts every framework has, and programs of single operations.
std::vector<Sample> samples(const Device& device);

}  // namespace kiln::onnx::test
