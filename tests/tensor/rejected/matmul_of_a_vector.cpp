// Tensor<1|member function for call to 'matmul'
#include "kiln/tensor/arithmetic.hpp"
using namespace kiln;
Tensor<2> product(Tensor<1> x, Tensor<2> w) { return x.matmul(w); }
