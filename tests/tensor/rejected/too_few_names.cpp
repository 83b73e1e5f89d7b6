// a named tensor has a name for each dimension
#include "kiln/tensor/named.hpp"
using namespace kiln;
Named<Tensor<2>, "batch"> x(Tensor<2>{});
