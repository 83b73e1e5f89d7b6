// write p = nn::Param
#include "kiln/nn.hpp"
using namespace kiln;
void shrink(nn::Linear& layer) { layer.weight = layer.weight * 0.5; }
