// no matching|constraints not satisfied
#include "kiln/tensor/named.hpp"
using namespace kiln;
using Tokens = Named<Tensor<2>, "batch", "time">;
using Weights = Named<Tensor<2>, "feature", "class">;
auto product(Tokens x, Weights w) { return contract<"time">(x, w); }
