// The heads of attention, side by side in the last dimension or apart.
#pragma once
#include "kiln/onnx/call.hpp"

namespace kiln::onnx {

/// [batch, time, heads * width] -> [batch, heads, time, width]; what has four dimensions stays.
inline Value heads_apart(const Call& c, const Value& x, std::int64_t heads) {
  if (x.rank() == 4) return x;
  c.check(x.rank() == 3 && heads > 0 && x.dim(2) % heads == 0, heads, " heads of ", x.shape());
  return permute(reshape(x, {x.dim(0), x.dim(1), heads, x.dim(2) / heads}), {0, 2, 1, 3});
}
/// The other way.
inline Value heads_together(const Value& x) {
  return reshape(permute(x, {0, 2, 1, 3}), {x.dim(0), x.dim(2), x.dim(1) * x.dim(3)});
}

}  // namespace kiln::onnx
