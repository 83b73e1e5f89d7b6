// must take the model as const M&
#include "kiln/kiln.hpp"
using namespace kiln;
auto trained(nn::Sequential<nn::BatchNorm> model, Tensor<2> x) {
  return value_and_grad(model, [&](nn::Sequential<nn::BatchNorm> m) { return m.forward(x).sum(); });
}
