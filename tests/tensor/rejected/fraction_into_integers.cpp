// no matching member function|no matching function
#include "kiln/tensor/arithmetic.hpp"
using namespace kiln;
auto filled(Tensor<2, Int> x, Tensor<2, Bool> mask) { return x.mask_fill(mask, 0.5); }
