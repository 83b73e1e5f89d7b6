#include "kiln/backend/cpu/simd/order/radix.hpp"
#include "kiln/ops/reduce/order_ops.hpp"

namespace kiln::cpu::simd {

bool run(const op::Sort& op, Call call) {
  order_lines(
      call, op.dim, [&]<class Item, class T>(const T* x, std::int64_t length, T* values, std::int64_t* indices) {
        const auto sort = [&](Item* items) {
          make_items(x, length, op.descending, items);
          write_items(x, radix_sort<sizeof(T)>(items, items + length, length), length, op.descending, values, indices);
        };
        const auto count = static_cast<std::size_t>(2 * length);
        // Radix passes write all over the buffer, which is faster in the large pages of the memory pool.
        if (length > kManyItems) sort(reinterpret_cast<Item*>(Memory(count * sizeof(Item)).bytes()));
        else sort(std::make_unique_for_overwrite<Item[]>(count).get());
      });
  return true;
}

}  // namespace kiln::cpu::simd
