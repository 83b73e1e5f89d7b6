#include "kiln/backend/cpu/simd/order/order.hpp"

#include "kiln/backend/cpu/rows.hpp"

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

Dims channels_last_strides(const Shape& shape) {
  Dims strides = Dims::filled(shape.size(), 1);
  std::int64_t step = shape[1];
  for (int i = shape.size() - 1; i >= 0; --i) {
    if (i == 1) continue;
    strides[i] = step;
    step *= shape[i];
  }
  return strides;
}

Array read_in(const Value& value, const Dims& strides, Value& held) {
  Array array = read(value);
  if (!has_strides(array, strides)) {
    held = Value(make_ref<Node>(value.node()->desc, value.node()->device));
    const Array result = allocate(held, strides, MemoryUse::Scratch);
    copy(array, result);
    return result;
  }
  array.strides = strides;
  return array;
}

}  // namespace kiln::cpu::simd
