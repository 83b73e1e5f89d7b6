// Tensor<2.*backward|'backward': constraints
#include "kiln/tensor/arithmetic.hpp"
using namespace kiln;
Gradients grads(Tensor<2> loss) { return loss.backward(); }
