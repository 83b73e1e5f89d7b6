// Sums of rows that are selected by bags of indices, in single precision. A few vectors of the sum of a bag stay in
// registers while all of its rows are read.
#include <hwy/cache_control.h>

#include <algorithm>

#include "kiln/backend/cpu/simd/index/indices.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/ops/index/index_ops.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/index/select_sum.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include "kiln/backend/cpu/simd/each_vector.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t kAhead = 8;  // how many rows ahead memory is prefetched

/// Computes the sum of `count` rows. `left` indices may be read for prefetching, including those of the next bags.
HWY_FLATTEN void add_rows(const float* x, std::int64_t row_stride, const std::int64_t* index, std::int64_t count,
                          std::int64_t left, std::int64_t columns, float* sums) {
  constexpr std::int64_t kTogether = 128;  // so many rows have a sum of their own, which limits rounding errors
  std::fill_n(sums, columns, 0.0f);
  for (; count > 0; index += kTogether, count -= kTogether, left -= kTogether)
    each_vector<4>(columns, [&]<class D, std::int64_t vectors>(D tag, std::int64_t at, VectorCount<vectors>) HWY_ATTR {
      const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
      hn::Vec<D> sum[vectors];
      for (auto& each : sum) each = hn::Zero(tag);
      for (std::int64_t i = 0; i < std::min(count, kTogether); ++i) {
        const float* row = x + index[i] * row_stride + at;
        const float* const soon = x + index[std::min(i + kAhead, left - 1)] * row_stride + at;
        for (std::int64_t k = 0; k < vectors; ++k) hwy::Prefetch(soon + k * lanes);
        for (std::int64_t k = 0; k < vectors; ++k) sum[k] = hn::Add(sum[k], hn::LoadU(tag, row + k * lanes));
      }
      for (std::int64_t k = 0; k < vectors; ++k) {
        float* const to = sums + at + k * lanes;
        hn::StoreU(hn::Add(hn::LoadU(tag, to), sum[k]), tag, to);
      }
    });
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(add_rows);

bool run(const op::SelectSum&, Call call) {
  using op::SelectSum;
  constexpr std::int64_t kGrain = 16384;  // the minimum number of elements per thread
  const Array x = read(call.in[SelectSum::x]);
  if (x.dtype != DType::F32 || (x.shape[1] > 1 && x.strides[1] != 1)) return false;
  const Indices index(call.in[SelectSum::index]);
  const Array z = allocate(call.out[0]);
  index.check(SelectSum::kName, 0, x.shape[0]);
  const std::int64_t bags = z.shape[0], columns = z.shape[1];
  if (bags == 0 || columns == 0) return true;
  const std::int64_t entries = index.count() / bags, work = std::max<std::int64_t>(1, entries * columns);
  parallel_for(bags, std::max<std::int64_t>(1, kGrain / work), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t bag = begin; bag < end; ++bag) HWY_DYNAMIC_DISPATCH(add_rows)
    (x.as<float>(), x.strides[0], index.data() + bag * entries, entries, index.count() - bag * entries, columns,
     z.as<float>() + bag * columns);
  });
  return true;
}

}  // namespace kiln::cpu::simd
#endif
