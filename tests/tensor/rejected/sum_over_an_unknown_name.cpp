// no matching|constraints not satisfied
#include "kiln/tensor/named.hpp"
using namespace kiln;
auto total(Named<Tensor<2>, "batch", "time"> x) { return x.sum<"feature">(); }
