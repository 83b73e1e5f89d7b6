// compiles
#include "kiln/kiln.hpp"
using namespace kiln;
struct Model {
  std::map<std::string, std::unique_ptr<nn::Linear>> layers;
};
auto count(const Model& model) { return num_params(model); }
void shrink(nn::Linear& layer) { layer.weight = nn::Param(layer.weight * 0.5); }
auto trained(const nn::Linear& model, Tensor<2> x) {
  return value_and_grad(model, [&](const nn::Linear& m) { return m.forward(x).sum(); });
}
