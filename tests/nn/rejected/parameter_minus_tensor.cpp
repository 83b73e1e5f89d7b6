// write p = nn::Param
#include "kiln/nn.hpp"
using namespace kiln;
void step(nn::Linear& layer, Tensor<2> g) { layer.weight -= g; }
