// no matching|constraints not satisfied
#include "kiln/tensor/named.hpp"
using namespace kiln;
auto product(Named<Tensor<2>, "batch", "time"> x, Named<Tensor<2>, "feature", "class"> w) { return contract<"time">(x, w); }
