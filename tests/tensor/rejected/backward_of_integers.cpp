// Tensor<0, kiln::Int>.*backward|'backward': constraints
#include "kiln/tensor/arithmetic.hpp"
using namespace kiln;
Gradients grads(Tensor<0, Int> loss) { return loss.backward(); }
