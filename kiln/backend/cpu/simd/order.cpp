#include "kiln/backend/cpu/simd/order.hpp"

namespace kiln::cpu::simd {

Dims dense_like(const Shape& shape, const Array& x) {
  InlineList<int, kMaxRank> order;
  for (int i = 0; i < shape.size(); ++i) {
    int at = order.size();
    while (at > 0 && x.strides[order[at - 1]] < x.strides[i]) --at;
    order.insert(at, i);
  }
  Dims strides = Dims::filled(shape.size(), 1);
  std::int64_t step = 1;
  for (int i = order.size() - 1; i >= 0; --i) {
    strides[order[i]] = step;
    step *= shape[order[i]];
  }
  return strides;
}

}  // namespace kiln::cpu::simd
