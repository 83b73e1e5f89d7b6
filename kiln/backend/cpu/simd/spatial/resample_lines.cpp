#include "kiln/backend/cpu/simd/spatial/resample_lines.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/spatial/resample_lines.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Computes groups of kVectors adjacent vectors of D, from element i on, while whole groups remain. Returns the first
/// element that remains.
template <int kVectors, class D>
HWY_INLINE std::int64_t add_vectors(D tag, const WeightedRow& row, const float* x, std::int64_t inner, float* result,
                                    std::int64_t i) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
  for (; i + kVectors * lanes <= inner; i += kVectors * lanes) {
    auto a = hn::Zero(tag), b = a, c = a, d = a;
    const float* from = x + row.begin * inner + i;
    for (std::int64_t k = 0; k < row.count; ++k, from += inner) {
      const auto weight = hn::Set(tag, row.weights[k]);
      a = hn::MulAdd(weight, hn::LoadU(tag, from), a);
      if constexpr (kVectors == 4) {
        b = hn::MulAdd(weight, hn::LoadU(tag, from + lanes), b);
        c = hn::MulAdd(weight, hn::LoadU(tag, from + 2 * lanes), c);
        d = hn::MulAdd(weight, hn::LoadU(tag, from + 3 * lanes), d);
      }
    }
    hn::StoreU(a, tag, result + i);
    if constexpr (kVectors == 4) {
      hn::StoreU(b, tag, result + i + lanes);
      hn::StoreU(c, tag, result + i + 2 * lanes);
      hn::StoreU(d, tag, result + i + 3 * lanes);
    }
  }
  return i;
}

void add_all(const WeightedRow& row, const float* x, std::int64_t inner, float* result) {
  const hn::ScalableTag<float> tag;
  std::int64_t i = add_vectors<4>(tag, row, x, inner, result, 0);
  i = add_vectors<1>(tag, row, x, inner, result, i);
  i = add_vectors<1>(hn::CappedTag<float, 4>(), row, x, inner, result, i);
  add_vectors<1>(hn::CappedTag<float, 1>(), row, x, inner, result, i);
}

template <class D>
HWY_INLINE std::int64_t gather_vectors(D tag, const LineTable& table, const float* x, float* result, std::int64_t j) {
  const hn::RebindToSigned<D> index_tag;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
  const auto step = hn::Set(index_tag, static_cast<std::int32_t>(table.inner));
  for (; j + lanes <= table.results; j += lanes) {
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
  }
  return j;
}

void gather_all(const LineTable& table, const float* x, float* result) {
  std::int64_t j = gather_vectors(hn::ScalableTag<float>(), table, x, result, 0);
  j = gather_vectors(hn::CappedTag<float, 4>(), table, x, result, j);
  gather_vectors(hn::CappedTag<float, 1>(), table, x, result, j);
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
