#include "kiln/optim/part.hpp"

#include "kiln/ops/functions.hpp"
#include "kiln/ops/scope/no_grad.hpp"

namespace kiln {

Value part_of(const Value& x, const ParamPart& part) {
  if (part.begin == 0 && part.count == x.numel()) return x;
  return narrow(reshape(x, {x.numel()}), 0, part.begin, part.count);
}

Value copied_part(const Value& x, const ParamPart& part) {
  if (x.empty() || part.count == x.numel()) return x;
  const NoGrad pause;
  return from_data(part_of(x, part).data(), x.device());
}

}  // namespace kiln
