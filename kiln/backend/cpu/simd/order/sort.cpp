#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/lines.hpp"
#include "kiln/backend/cpu/simd/order/radix.hpp"
#include "kiln/ops/reduce/order_ops.hpp"

namespace kiln::cpu::simd {
namespace {

template <class Item, class T>
void sort_lines(const T* x, std::int64_t lines, std::int64_t length, bool descending, T* values,
                std::int64_t* indices) {
  each_line(lines, length, [&](std::int64_t line) {
    const std::int64_t first = line * length;
    const auto sort = [&](Item* items) {
      make_items(x + first, length, descending, items);
      const Item* sorted = radix_sort<sizeof(T)>(items, items + length, length);
      write_items(x + first, sorted, length, descending, values + first, indices + first);
    };
    const auto count = static_cast<std::size_t>(2 * length);
    // Radix passes write all over the buffer, which is faster in the large pages of the memory pool.
    if (length > kManyItems) sort(reinterpret_cast<Item*>(Memory(count * sizeof(Item)).bytes()));
    else sort(std::make_unique_for_overwrite<Item[]>(count).get());
  });
}

}  // namespace

bool run(const op::Sort& op, Call call) {
  const Shape& shape = call.in[0].shape();
  const Dims order = strides_along(shape, op.dim);
  const Array values = allocate(call.out[op::Sort::values], order);
  const Array indices = allocate(call.out[op::Sort::indices], order);
  if (values.numel() == 0) return true;
  Value held;
  const std::byte* x = read_along(call.in[0], op.dim, held);
  const std::int64_t length = shape[op.dim], lines = values.numel() / length;
  visit_dtype(values.dtype, [&]<class E>(TypeTag<E>) {
    using T = std::conditional_t<std::is_same_v<E, bool>, std::uint8_t, E>;
    visit_item<T>(length, [&]<class Item>() {
      sort_lines<Item>(reinterpret_cast<const T*>(x), lines, length, op.descending, values.as<T>(),
                       indices.as<std::int64_t>());
    });
  });
  return true;
}

}  // namespace kiln::cpu::simd
