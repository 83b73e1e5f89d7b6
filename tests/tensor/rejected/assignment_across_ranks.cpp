// Tensor<3
#include "kiln/tensor/arithmetic.hpp"
using namespace kiln;
Tensor<2> first(Tensor<3> x) { return x; }
