// cannot convert.*Dim|no matching function|could not convert
#include "kiln/tensor/activation.hpp"
using namespace kiln;
auto flagged(Tensor<2> x) { return softmax(x, true); }
