// What Gymnasium answers, as gymnasium_figures.py has stored it.
#pragma once
#include <string>

#include "kiln/core/file.hpp"
#include "kiln/store/safetensors/safetensors.hpp"

namespace kiln::rl {

inline const TensorData& stored(const std::string& name) {
  static const TensorFile file = read_safetensors(read_file(KILN_GYMNASIUM), KILN_GYMNASIUM);
  return file.tensors.at(name);
}

}  // namespace kiln::rl
