// Tensor<2
#include "kiln/tensor/arithmetic.hpp"
using namespace kiln;
auto element(Tensor<2> x) { return x(0, 0, 0); }
