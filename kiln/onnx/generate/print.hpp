// The text of structs, and of the files around them.
#pragma once
#include "kiln/onnx/generate/structs.hpp"

namespace kiln::onnx::cpp {

/// The model that the text is about, besides its structs.
struct Subject {
  std::string name, file;  // "resnet50", "resnet50.onnx"
  std::vector<ValueInfo> inputs, outputs;
  std::vector<Type> input_types;
  bool has_weights = true;
  bool random = false;  // outputs differ from run to run
};

std::string header_text(const Structs& structs, const Subject& subject);
std::string source_text(const Structs& structs, const Subject& subject);
/// The function run(model, inputs).
std::string adapter_text(const Structs& structs, const Subject& subject);
std::string test_text(const Structs& structs, const Subject& subject);
std::string cmake_text(const Subject& subject);

}  // namespace kiln::onnx::cpp
