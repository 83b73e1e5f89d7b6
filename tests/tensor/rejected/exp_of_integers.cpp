// Tensor<2, kiln::Int>.*exp|'exp': constraints
#include "kiln/tensor/arithmetic.hpp"
using namespace kiln;
auto powers(Tensor<2, Int> x) { return x.exp(); }
