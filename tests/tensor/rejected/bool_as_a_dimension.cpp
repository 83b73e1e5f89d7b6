// x.sum.dim, true. is written x.sum.keep, dim. here
#include "kiln/tensor/arithmetic.hpp"
using namespace kiln;
auto kept(Tensor<2> x) { return x.sum(0, true); }
