// Names the parameter of a model that caused an error.
#pragma once
#include <string>

#include "kiln/core/error/error.hpp"
#include "kiln/nn/module.hpp"

namespace kiln {

/// While it lives, errors of shapes and element types on this thread end with the parameter of `model` that was an
/// operand: "..., in blocks.3.project.weight [8, 4]". value_and_grad() uses one; for inference:
///
///   const ParamNames names(model);
///   model.forward(x);
///
/// It costs nothing until there is an error. The model must not be moved meanwhile.
class ParamNames {
 public:
  explicit ParamNames(const nn::ModuleView& model) : describe_{model}, context_(describe_) {}
  ParamNames(const ParamNames&) = delete;
  ParamNames& operator=(const ParamNames&) = delete;

 private:
  struct Describe {
    nn::ModuleView model;
    void operator()(ErrorKind kind, std::string& sentence) const;
  };
  const Describe describe_;
  const ErrorContext context_;
};

}  // namespace kiln
