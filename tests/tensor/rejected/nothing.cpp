// compiles
#include "kiln/tensor/arithmetic.hpp"
using namespace kiln;
Tensor<2> product(Tensor<2> x, Tensor<2> w) { return x.matmul(w); }
