// Binary search without branches, for several values at a time, so that their memory accesses overlap. In a line of
// evenly distributed numbers, a table of equal parts (bucket_table.hpp) says where to look.
#include <algorithm>
#include <vector>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/simd/order/bucket_table.hpp"
#include "kiln/backend/cpu/simd/order/keys.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/ops/reduce/order_ops.hpp"

namespace kiln::cpu::simd {
namespace {

constexpr std::int64_t kGrain = 2048;  // the minimum number of values per thread
constexpr std::int64_t kInterleaved = 16;
constexpr std::int64_t kValuesForParts = 64;  // the fewest values, for each number of a line, that are worth a table

/// Finds how many keys of a sorted line come before each of kInterleaved values.
template <bool right, class T, class KeyAt>
void search(KeyAt&& key_at, std::int64_t length, const T* values, std::int64_t* found) {
  Key<T> wanted[kInterleaved];
  std::int64_t before[kInterleaved] = {};
  for (std::int64_t i = 0; i < kInterleaved; ++i) wanted[i] = key_of(values[i]);
  for (std::int64_t rest = length; rest > 0;) {
    const std::int64_t half = (rest + 1) / 2;
    for (std::int64_t i = 0; i < kInterleaved; ++i) {
      const Key<T> middle = key_at(before[i] + half - 1);
      before[i] += (right ? middle <= wanted[i] : middle < wanted[i]) ? half : 0;
    }
    rest -= half;
  }
  std::copy_n(before, kInterleaved, found);
}

/// Finds values by the parts of a line. NaN are treated apart: they come after all numbers.
template <bool right, class T>
void search_parts(const BucketTable<T>& parts, const T* line, std::int64_t length, const T* values, std::int64_t count,
                  std::int64_t* z) {
  bool all_numbers = true;
  for (std::int64_t i = 0; i < count; ++i) {
    const bool is_number = values[i] == values[i];
    all_numbers &= is_number;
    z[i] = parts.template find<right>(is_number ? values[i] : 0);
  }
  if (all_numbers) return;
  const std::int64_t numbers = std::count_if(line, line + length, [](T x) { return x == x; });
  for (std::int64_t i = 0; i < count; ++i)
    if (values[i] != values[i]) z[i] = right ? length : numbers;
}

/// Searches for values [begin, end); value i belongs to line i / per_line. If many values belong to a short line, its
/// keys are computed once.
template <bool right, class T>
void search_lines(const T* lines, std::int64_t length, const T* values, std::int64_t per_line, std::int64_t begin,
                  std::int64_t end, std::int64_t* z) {
  std::vector<Key<T>> keys;
  while (begin < end) {
    const std::int64_t number = begin / per_line, line_end = std::min(end, (number + 1) * per_line);
    const T* const line = lines + number * length;
    if constexpr (std::is_floating_point_v<T>) {
      if (line_end - begin >= kValuesForParts * length)
        if (const BucketTable<T> parts(line, length); parts.is_usable()) {
          search_parts<right>(parts, line, length, values + begin, line_end - begin, z + begin);
          begin = line_end;
          continue;
        }
    }
    const bool makes_keys = length <= (line_end - begin) / 4;
    if (makes_keys) {
      keys.resize(static_cast<std::size_t>(length));
      std::transform(line, line + length, keys.begin(), [](T x) { return key_of(x); });
    }
    for (; begin < line_end; begin += kInterleaved) {
      const std::int64_t count = std::min(line_end - begin, kInterleaved);
      T some[kInterleaved] = {};
      std::int64_t found[kInterleaved];
      std::copy_n(values + begin, count, some);
      if (makes_keys) search<right>([made = keys.data()](std::int64_t i) { return made[i]; }, length, some, found);
      else search<right>([line](std::int64_t i) { return key_of(line[i]); }, length, some, found);
      std::copy_n(found, count, z + begin);
    }
    begin = line_end;
  }
}

}  // namespace

bool run(const op::SearchSorted& op, Call call) {
  using op::SearchSorted;
  Value held_lines, held_values;
  const Array lines = read_contiguous(call.in[SearchSorted::sorted], held_lines);
  const Array values = read_contiguous(call.in[SearchSorted::values], held_values), z = allocate(call.out[0]);
  const std::int64_t count = z.numel(), length = lines.shape.back();
  const std::int64_t per_line = lines.shape.size() == 1 ? count : values.shape.back();
  visit_dtype(lines.dtype, [&]<class E>(TypeTag<E>) {
    using T = std::conditional_t<std::is_same_v<E, bool>, std::uint8_t, E>;
    const std::int64_t grain = BucketTable<T>::kTakes ? std::max(kGrain, 2 * kValuesForParts * length) : kGrain;
    parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
      const auto run_lines = op.right ? search_lines<true, T> : search_lines<false, T>;
      run_lines(lines.as<T>(), length, values.as<T>(), per_line, begin, end, z.as<std::int64_t>());
    });
  });
  return true;
}

}  // namespace kiln::cpu::simd
