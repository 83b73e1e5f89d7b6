// Tensor<2.*item|member function for call to 'item'
#include "kiln/tensor/arithmetic.hpp"
using namespace kiln;
float number(Tensor<2> x) { return x.item(); }
