// may hold tensors and cannot be looked into
#include "kiln/nn.hpp"
using namespace kiln;
class Layer {
 public:
  explicit Layer(nn::Param<1> weight) : weight_(weight) {}

 private:
  nn::Param<1> weight_;
};
struct Model {
  std::vector<Layer> layers;
};
auto count(const Model& model) { return num_params(model); }
