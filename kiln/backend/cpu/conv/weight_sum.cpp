#include "kiln/backend/cpu/conv/weight_sum.hpp"

#include <algorithm>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/pieces.hpp"
#include "kiln/core/grain.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::conv {
namespace {

using std::int64_t;

int64_t bytes_of_sum(const Value& weight) { return numel(weight.shape()) * static_cast<int64_t>(sizeof(float)); }

/// Adds `count` arrays that lie one behind the other, the first one first.
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

}  // namespace

int64_t images_of_sum(const Geometry& g, const Value& weight) {
  // So many pieces that their weights together stay within the cache.
  constexpr int64_t kMostBytes = 16 << 20;
  const int64_t most = std::max<int64_t>(2, kMostBytes / bytes_of_sum(weight));
  return limited_grain(divide_up(g.batch, std::min(most, pieces(g.batch * g.cost()))));
}

void sum_over_images(const Geometry& g, Value& weight, FunctionRef<void(int64_t, int64_t, float*)> make) {
  const int64_t images = images_of_sum(g, weight), count = divide_up(g.batch, images);
  const Array result = allocate(weight);
  const Memory parts(static_cast<std::size_t>(count * bytes_of_sum(weight)));
  auto* const sums = reinterpret_cast<float*>(parts.bytes());
  const int64_t numel = result.numel();
  parallel_pieces(g.batch, images,
                  [&](int64_t begin, int64_t end) { make(begin, end, sums + begin / images * numel); });
  if (result.dtype == DType::BF16) add_up(sums, count, numel, result.as<BF16>());
  else add_up(sums, count, numel, result.as<float>());
}

}  // namespace kiln::cpu::conv
