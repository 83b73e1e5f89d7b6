#include "kiln/backend/cpu/conv/weight_sum.hpp"

#include <algorithm>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/pieces.hpp"
#include "kiln/core/grain.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::conv {
namespace {

using std::int64_t;

/// Adds `count` consecutive arrays, starting with the first one.
template <class T>
void add_up(const float* parts, int64_t count, int64_t numel, T* result) {
  constexpr int64_t kBlock = 1024;
  parallel_for(numel, 16 * kBlock, [&](int64_t begin, int64_t end) {
    float sum[kBlock];
    for (int64_t block = begin; block < end; block += kBlock) {
      const int64_t size = std::min(kBlock, end - block);
      std::copy_n(parts + block, size, sum);
      for (int64_t part = 1; part < count; ++part)
        for (int64_t i = 0; i < size; ++i) sum[i] += parts[part * numel + block + i];
      for (int64_t i = 0; i < size; ++i) result[block + i] = T(sum[i]);
    }
  });
}

/// Chooses the number of parts so that their weights together stay in the cache, and adding them is not most of the
/// work.
int64_t most_parts(const Geometry& g) {
  constexpr int64_t kMostBytes = 16 << 20, kLeastOperations = 768;  // for each number of a weight
  const int64_t numbers = g.out * (g.in / g.groups) * Geometry::product(g.kernel), least = kLeastOperations * numbers;
  return std::min({std::max<int64_t>(2, kMostBytes / (numbers * static_cast<int64_t>(sizeof(float)))),
                   std::max(g.batch, g.batch * g.cost() / least), pieces(g.batch * g.cost())});
}

}  // namespace

WeightParts::WeightParts(const Geometry& g, bool by_rows) : g_(g), rows_(g.result[0]), slabs_(1) {
  const int64_t wanted = most_parts(g);
  images_ = limited_grain(divide_up(g.batch, wanted));
  // A kernel loses some speed on a part of an image, and most of it for volumes.
  by_rows &= images_ == 1 && g.few_images() && g.kernel.size() <= 2 && g.has_rows();
  if (!by_rows) return;
  rows_ = limited_grain(divide_up(rows_, divide_up(wanted, g.batch)));
  slabs_ = divide_up(g.result[0], rows_);
}

Geometry WeightParts::part(int64_t i) const {
  if (slabs_ > 1) return g_.rows(row(i), std::min(g_.result[0], row(i) + rows_));
  return g_.images(std::min(images_, g_.batch - image(i)));
}

Array WeightParts::x_of(const Array& x, int64_t i) const {
  Array from = x;
  const int64_t lines = Geometry::product(g_.sizes) / g_.sizes[0], first = slabs_ > 1 ? g_.first_row(row(i)) : 0;
  from.data += (image(i) * g_.sizes[0] + first) * lines * g_.in * static_cast<int64_t>(size_of(x.dtype));
  return from;
}

Array WeightParts::y_of(const Array& y, int64_t i) const {
  Array from = y;
  const int64_t lines = Geometry::product(g_.result) / g_.result[0];
  from.data += (image(i) * g_.result[0] + row(i)) * lines * g_.out * static_cast<int64_t>(size_of(y.dtype));
  return from;
}

void sum_of_parts(const WeightParts& parts, Value& weight, FunctionRef<void(int64_t, float*)> make) {
  const Array result = allocate(weight);
  const int64_t count = parts.count(), numel = result.numel();
  const Memory memory(static_cast<std::size_t>(count * numel) * sizeof(float));
  auto* const sums = reinterpret_cast<float*>(memory.bytes());
  parallel_chunks(count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) make(i, sums + i * numel);
  });
  if (result.dtype == DType::BF16) add_up(sums, count, numel, result.as<BF16>());
  else add_up(sums, count, numel, result.as<float>());
}

}  // namespace kiln::cpu::conv
