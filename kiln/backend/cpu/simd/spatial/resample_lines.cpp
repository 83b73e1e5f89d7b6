#include "kiln/backend/cpu/simd/spatial/resample_lines.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/spatial/resample_lines.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include "kiln/backend/cpu/simd/each_vector.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

HWY_FLATTEN void add_all(const WeightedRow& row, const float* x, std::int64_t inner, float* result) {
  each_vector<4>(inner, [&]<class D, std::int64_t vectors>(D tag, std::int64_t i, VectorCount<vectors>) HWY_ATTR {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
    hn::Vec<D> sums[vectors];
    for (auto& sum : sums) sum = hn::Zero(tag);
    const float* from = x + row.begin * inner + i;
    for (std::int64_t tap = 0; tap < row.count; ++tap, from += inner) {
      const auto weight = hn::Set(tag, row.weights[tap]);
      for (std::int64_t k = 0; k < vectors; ++k)
        sums[k] = hn::MulAdd(weight, hn::LoadU(tag, from + k * lanes), sums[k]);
    }
    for (std::int64_t k = 0; k < vectors; ++k) hn::StoreU(sums[k], tag, result + i + k * lanes);
  });
}

HWY_FLATTEN void gather_all(const LineTable& table, const float* x, float* result) {
  each_vector(table.results, [&]<class D>(D tag, std::int64_t j, VectorCount<1>) HWY_ATTR {
    const hn::RebindToSigned<D> index_tag;
    const auto step = hn::Set(index_tag, static_cast<std::int32_t>(table.inner));
    auto sum = hn::Zero(tag);
    auto index = hn::LoadU(index_tag, table.first.data() + j);
    const float* weights = table.weights.data() + j;
    for (std::int64_t k = 0; k < table.taps; ++k, weights += table.results) {
      const auto weight = hn::LoadU(tag, weights);
      // A padding tap of weight 0 must not read an infinity or a NaN.
      const auto element = hn::IfThenElseZero(hn::Ne(weight, hn::Zero(tag)), hn::GatherIndex(tag, x, index));
      sum = hn::MulAdd(weight, element, sum);
      index = hn::Add(index, step);
    }
    hn::StoreU(sum, tag, result + j);
  });
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(add_all);
HWY_EXPORT(gather_all);

void add_lines(const WeightedRow& row, const float* x, std::int64_t inner, float* result) {
  HWY_DYNAMIC_DISPATCH(add_all)(row, x, inner, result);
}
void gather_line(const LineTable& table, const float* x, float* result) {
  HWY_DYNAMIC_DISPATCH(gather_all)(table, x, result);
}

LineTable::LineTable(const op::Resample::Taps& map, std::int64_t size, std::int64_t inner) : inner(inner) {
  results = static_cast<std::int64_t>(map.rows.size()) * inner;
  taps = 1;
  for (const auto& row : map.rows) taps = std::max(taps, row.count);
  first.reserve(static_cast<std::size_t>(results));
  weights.assign(static_cast<std::size_t>(results * taps), 0.0f);
  for (const auto& row : map.rows) {
    const std::int64_t begin = std::min(row.begin, size - taps);  // so that no padding tap reads beyond the line
    for (std::int64_t i = 0; i < inner; ++i) {
      const auto j = static_cast<std::int64_t>(first.size());
      first.push_back(static_cast<std::int32_t>(begin * inner + i));
      for (std::int64_t k = 0; k < row.count; ++k)
        weights[static_cast<std::size_t>((row.begin - begin + k) * results + j)] =
            static_cast<float>(map.weights[static_cast<std::size_t>(row.first + k)]);
    }
  }
}

}  // namespace kiln::cpu::simd
#endif
