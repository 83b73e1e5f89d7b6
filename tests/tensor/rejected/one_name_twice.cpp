// no two dimensions of a named tensor have the same name
#include "kiln/tensor/named.hpp"
using namespace kiln;
Named<Tensor<2>, "batch", "batch"> x(Tensor<2>{});
