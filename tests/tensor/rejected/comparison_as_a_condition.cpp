// Tensor<.*Bool
#include "kiln/tensor/arithmetic.hpp"
using namespace kiln;
bool same(Tensor<2> x) {
  if (x == x) return true;
  return false;
}
