// The layers of a model in the order in which they process a sample input, with their outputs and costs.
//
//   print(summary(model, images));
//     layer             output              parameters   FLOPs    memory
//     conv1: Conv2d     [64, 8, 26, 26]     80           6.2 M    1.3 MiB
//     relu              [64, 8, 26, 26]                           1.3 MiB
//     ...
#pragma once
#include <string>
#include <tuple>
#include <vector>

#include "kiln/backend/capture/graph.hpp"
#include "kiln/nn/module/freeze.hpp"
#include "kiln/nn/summary.hpp"

namespace kiln {

/// A module with parameters, at one of its uses, or an operation without parameters.
struct LayerRow {
  std::string path;  // the module's: "blocks.0.attention.query"; empty for a single operation
  std::string type;  // "Linear", or the name of the operation
  Shape output;      // shape of its last operation's result
  DType dtype = DType::F32;
  std::int64_t parameters = 0;  // elements of parameters that were not counted in earlier rows
  // Multiplications and additions of products, convolutions, attention and similar operations.
  double flops = 0;
  std::int64_t bytes = 0;  // size of all results of its operations, except views
};

struct LayerTable {
  std::vector<LayerRow> rows;
  // Totals of the model, whether or not the sample's pass used them.
  std::int64_t parameters = 0, trained = 0, parameter_bytes = 0;

  double flops() const;
  /// The bytes of all rows: what a training step keeps if every gradient reads its operands.
  std::int64_t bytes() const;
};
void append(std::string& out, const LayerTable& table);

namespace nn {

LayerTable layer_table(const std::vector<ParamWithPaths>& params, const Graph& graph);

}  // namespace nn

/// Captures model.forward(samples...) as a program, without running it, and finds out whose parameters each operation
/// reads. Operations that compute a layer's weights from parameters run during the capture, so they are not counted.
/// The model is used in Mode::Valid. The result may be anything that holds tensors.
template <Module M, class... Samples>
LayerTable layer_table(const M& model, const Samples&... samples) {
  // On an autodiff device, with gradients for all, views of a parameter can be traced back to it.
  M used = valid(model);
  visit_params(used, [&](const nn::PartPath&, nn::AnyLeaf& param) {
    param.set(to_device(param.value(), param.device().autodiff()));
    param.set_frozen(false);
  });
  const auto forward = [&](const Values& in) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      Values results;
      const auto result = std::as_const(used).forward(Samples(in[I])...);
      nn::walk(result, [&](const nn::PartPath&, const nn::AnyLeaf& leaf) {
        if (leaf.is_constant() && !leaf.empty()) results.push_back(leaf.value());
      });
      return results;
    }(std::index_sequence_for<Samples...>());
  };
  std::vector<nn::ParamWithPaths> params = nn::params_with_paths(used);
  LayerTable table = nn::layer_table(params, capture_graph(forward, Values{samples.value()...}));
  table.trained = num_trained_params(model);
  return table;
}

/// The layer table as text.
template <Module M, Operand Sample, Operand... Samples>
std::string summary(const M& model, const Sample& sample, const Samples&... samples) {
  return text(layer_table(model, sample, samples...));
}

}  // namespace kiln
