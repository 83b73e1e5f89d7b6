// What a file holds, without running it: for `kiln onnx FILE`.
#pragma once
#include <optional>

#include "kiln/onnx/model.hpp"

namespace kiln::onnx {

struct Summary {
  std::string producer;  // and its version
  std::vector<OperatorSetId> operator_sets;
  std::vector<ValueInfo> inputs, outputs;                       // as declared
  std::map<std::string, std::int64_t> operators;                // how many nodes, those of sub-graphs included
  std::int64_t nodes = 0, parameters = 0, parameter_bytes = 0;  // parameters: elements of initializers
  Strings unsupported;                                          // as unsupported_operators() says
  std::optional<double> flops;                                  // multiplications and additions, free sizes being 1
  std::string why_no_flops;                                     // where there is no number
};

/// Throws as load() does, but for operators that Kiln lacks, which the summary lists.
Summary summarize(const std::string& path, const Device& device);

/// An input as declared, with `size` for sizes that are named or left open, filled with what models take: normal numbers,
/// integers that are 0, true. Throws ArgumentError where it is no tensor of numbers, or of any rank.
Value example_input(const ValueInfo& input, const Device& device,
                    const std::map<std::string, std::int64_t>& sizes = {});

}  // namespace kiln::onnx
