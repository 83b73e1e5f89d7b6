// A module as a tree of text.
#pragma once
#include <string>

#include "kiln/nn/module.hpp"

namespace kiln {

struct SummaryOptions {
  int depth = -1;  // how many levels of modules: 0 is the model alone, -1 all
  int indentation = 2;
  bool options = true;  // after the names of their modules
  bool tensors = true;  // a line for each parameter and buffer
};

/// Lists names, types, options, shapes and numbers of parameters:
///
///     Model, 530,090 parameters
///       conv1: Conv2d, 80 parameters, stride [1, 1], padding [0, 0], dilation [1, 1], groups 1, ...
///         weight [8, 1, 3, 3]
///         bias [8]
std::string summary(const nn::ModuleView& model, const SummaryOptions& options = {});
template <class = void>
std::string summary(const nn::NoModule&, const SummaryOptions& = {}) {
  return {};
}

namespace nn {

/// 1234567 -> "1,234,567"
std::string grouped(std::int64_t number);

}  // namespace nn
}  // namespace kiln
