#include "kiln/tensor/function/vmap.hpp"

namespace kiln::detail {

Value example_of(const Value& x) {
  require<ArgumentError>(!x.empty(), "vmap: an input is an empty tensor");
  Shape shape;
  for (int k = 1; k < x.rank(); ++k) shape.push_back(x.dim(k));
  const Value example = zeros(shape, x.device(), x.dtype());
  return x.tracked() ? to_device(example, x.device().autodiff()).require_grad() : example;
}

}  // namespace kiln::detail
