// no matching member function|no matching function
#include "kiln/tensor/arithmetic.hpp"
using namespace kiln;
auto kept(Tensor<2> x) { return x.sum(0, true); }
