// Which parameter of a model an error is about.
#pragma once
#include "kiln/nn/module.hpp"
#include "kiln/ops/scope/scope.hpp"

namespace kiln {

namespace nn {

/// Is `operand` this parameter, or a transposed, reshaped or cast one?
bool is_about(const Value& operand, const Value& param);

}  // namespace nn

/// While it lives, errors of shapes and element types on this thread end with the parameter of `model` that was an operand:
/// "..., in blocks.3.project.weight [8, 4]". value_and_grad() has one; for a model that is only used:
///
///   const ParamNames names(model);
///   model.forward(x);
///
/// Nothing is done until there is an error. The model must stay where it is.
template <Module M>
class ParamNames {
 public:
  explicit ParamNames(const M& model) : describe_{model}, context_(describe_) {}

 private:
  struct Describe {
    const M& model;
    void operator()(ErrorKind kind, std::string& sentence) const {
      if (kind != ErrorKind::Shape && kind != ErrorKind::DType) return;
      std::string place;
      OperandScope::each([&](const Value& operand) {
        if (!place.empty()) return;
        visit_params(model, [&](const std::string& path, const auto& param) {
          if (place.empty() && nn::is_about(operand, param.value())) place = text(", in ", path, ' ', param.shape());
        });
      });
      sentence += place;
    }
  };
  const Describe describe_;
  const ErrorContext context_;
};

}  // namespace kiln
