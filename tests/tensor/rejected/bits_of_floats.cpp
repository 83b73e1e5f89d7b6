// Tensor<2.*>.*bitwise_not|'bitwise_not': constraints
#include "kiln/tensor/arithmetic.hpp"
using namespace kiln;
auto complement(Tensor<2> x) { return x.bitwise_not(); }
