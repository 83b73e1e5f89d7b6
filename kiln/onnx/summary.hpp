// The contents of a file, without a run: for `kiln onnx FILE`.
#pragma once
#include <optional>

#include "kiln/onnx/model.hpp"

namespace kiln::onnx {

struct Summary {
  std::string producer;  // the exporter and its version
  std::vector<OperatorSetId> operator_sets;
  std::vector<ValueInfo> inputs, outputs;                       // as declared
  std::map<std::string, std::int64_t> operators;                // how many nodes, those of sub-graphs included
  std::int64_t nodes = 0, parameters = 0, parameter_bytes = 0;  // parameters: elements of initializers and constants
  Strings unsupported;                                          // as unsupported_operators() says
  std::optional<double> flops;                                  // multiplications and additions
  std::string why_no_flops;                                     // where there is no number
};

/// Sizes that a file leaves open, by their names, or as "x[0]" for those of input x that have none; 1 where not given.
using Sizes = std::map<std::string, std::int64_t, std::less<>>;

/// Throws as load() does, but for operators that Kiln lacks, which the summary lists.
Summary summarize(const std::string& path, const Device& device, const Sizes& sizes = {});

/// The inputs as declared, filled with what models take: normal numbers; integers that are 0 or 1, or, where a Gather of
/// the graph takes them as places in a table, anywhere in that; true. Throws ArgumentError where an input is no tensor of
/// numbers, or of any rank.
std::vector<Datum> example_inputs(const Model& model, const Sizes& sizes = {});
/// An example of one input; integers are below `limit`.
Value example_input(const ValueInfo& input, const Device& device, const Sizes& sizes = {}, std::int64_t limit = 2);

}  // namespace kiln::onnx
