// Tensor<.*Bool
#include "kiln/kiln.hpp"
using namespace kiln;
bool same(Tensor<2> x) {
  if (x == x) return true;
  return false;
}
