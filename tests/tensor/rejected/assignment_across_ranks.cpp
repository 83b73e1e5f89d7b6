// Tensor<3
#include "kiln/kiln.hpp"
using namespace kiln;
Tensor<2> first(Tensor<3> x) { return x; }
