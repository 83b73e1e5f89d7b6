#include "kiln/backend/cpu/memory_order.hpp"

#include "kiln/backend/cpu/rows.hpp"

namespace kiln::cpu {

Dims channels_last_strides(const Shape& shape) {
  Dims strides = Dims::filled(shape.size(), 1);
  std::int64_t stride = shape[1];
  for (int i = shape.size() - 1; i >= 2; --i) {
    strides[i] = stride;
    stride *= shape[i];
  }
  strides[0] = stride;
  return strides;
}

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

Array read_in(const Value& value, const Dims& strides, Value& held) {
  Array array = read(value);
  if (!has_strides(array, strides)) {
    held = Value(make_ref<Node>(value.node()->desc, value.device()));
    const Array copied = allocate(held, strides, MemoryUse::Scratch);
    copy(array, copied);
    return copied;
  }
  array.strides = strides;
  return array;
}

}  // namespace kiln::cpu
