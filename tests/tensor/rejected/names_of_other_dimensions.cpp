// could not convert|no viable conversion
#include "kiln/tensor/named.hpp"
using namespace kiln;
Named<Tensor<2>, "batch", "time"> same(Named<Tensor<2>, "time", "batch"> x) { return x; }
