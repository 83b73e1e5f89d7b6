// Tensor<2, kiln::Int>.*exp|'exp': constraints
#include "kiln/kiln.hpp"
using namespace kiln;
auto powers(Tensor<2, Int> x) { return x.exp(); }
