// Tensor<2|no matching function
#include "kiln/tensor/arithmetic.hpp"
using namespace kiln;
auto total(Tensor<2> x) { return kiln::sum(x, {0}); }
