// cat
#include "kiln/tensor/assemble.hpp"
using namespace kiln;
Tensor<2> joined(Tensor<2> x, Tensor<3> y) { return cat({x, y}); }
