// torch_figures.json and perceptual_figures.json: what PyTorch and torchvision find for small models; torch_figures.py
// and perceptual_figures.py write them.
#pragma once
#include <map>
#include <span>
#include <string>

#include "kiln/core/shape.hpp"

namespace kiln {

/// Each throws an IoError or ConfigError where the file is missing or damaged, and a DataError for another name.
std::span<const double> torch_numbers(const std::string& name);
const std::map<std::string, Shape>& torch_state(const std::string& model);  // shapes by the names of a state dict

}  // namespace kiln
