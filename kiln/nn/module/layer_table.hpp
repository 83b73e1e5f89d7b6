// What a model does with a sample input: its layers in the order in which they run, with what they give and cost.
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

/// A module with parameters, at one of its uses, or an operation without any between them.
struct LayerRow {
  std::string path;  // of the module: "blocks.0.attention.query"; empty of an operation alone
  std::string type;  // "Linear", or what the operation is called
  Shape output;      // of its last operation
  DType dtype = DType::F32;
  std::int64_t parameters = 0;  // elements of those that were not counted further up
  double flops = 0;             // multiplications and additions of products, convolutions, attention and the like
  std::int64_t bytes = 0;       // of all that its operations give, views left out
};

struct LayerTable {
  std::vector<LayerRow> rows;
  // Of the model, whether or not the sample's pass used them.
  std::int64_t parameters = 0, trained = 0, parameter_bytes = 0;

  double flops() const;
  /// Of the results of all rows: what a training step keeps, if every gradient reads them.
  std::int64_t bytes() const;
};
void append(std::string& out, const LayerTable& table);

namespace nn {

LayerTable layer_table(const std::vector<PlacedParam>& params, const Graph& graph);

}  // namespace nn

/// Records model.forward(samples...) as a captured program, without running it, and says of each operation whose parameters
/// it reads; operations that make a layer's weights of parameters are done when that happens, so not counted. The
/// model is taken in Mode::Valid. Whatever holds tensors may be the result.
template <Module M, class... Samples>
LayerTable layer_table(const M& model, const Samples&... samples) {
  // On an autodiff device, with gradients for all, views of a parameter are known to be views of it.
  M used = valid(model);
  visit_params(used, [&](const nn::Place&, nn::AnyLeaf& param) {
    param.set(to_device(param.value(), param.device().autodiff()));
    param.set_frozen(false);
  });
  const auto forward = [&](const Values& in) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      Values results;
      const auto result = std::as_const(used).forward(Samples(in[I])...);
      nn::walk(result, [&](const nn::Place&, const nn::AnyLeaf& leaf) {
        if (leaf.is_constant() && !leaf.empty()) results.push_back(leaf.value());
      });
      return results;
    }(std::index_sequence_for<Samples...>());
  };
  std::vector<nn::PlacedParam> params = nn::placed_params(used);
  LayerTable table = nn::layer_table(params, capture_graph(forward, Values{samples.value()...}));
  table.trained = num_trained_params(model);
  return table;
}

/// The same as text.
template <Module M, Operand Sample, Operand... Samples>
std::string summary(const M& model, const Sample& sample, const Samples&... samples) {
  return text(layer_table(model, sample, samples...));
}

}  // namespace kiln
