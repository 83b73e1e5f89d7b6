// Tensor<.*Bool
#include "kiln/tensor/arithmetic.hpp"
using namespace kiln;
Tensor<1> picked(Tensor<2> x) { return x.mask_select(x); }
