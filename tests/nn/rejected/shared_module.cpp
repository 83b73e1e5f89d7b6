// hold the module itself or a unique_ptr
#include "kiln/nn.hpp"
using namespace kiln;
struct Model {
  std::shared_ptr<nn::Linear> layer;
};
auto count(const Model& model) { return num_params(model); }
