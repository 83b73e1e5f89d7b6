#include "kiln/backend/cpu/simd/blocks.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/elementwise/unary.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include "kiln/backend/cpu/simd/vector_rows.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

template <class T, class Row>
void map(const T* x, std::size_t x_step, void* z, std::size_t n) {
  constexpr std::size_t lanes = kLanes<T>;
  using Result = decltype(Row::of(Vector<T>(0)));
  using Out = std::conditional_t<std::is_same_v<Result, Vector<T>>, T, std::uint8_t>;
  auto* out = static_cast<Out*>(z);
  const std::size_t advance = x_step * lanes;
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes, x += advance) store(Row::of(Vector<T>::load(x)), out + i);
  if (i == n) return;
  T last[lanes] = {};
  Out results[lanes];
  for (std::size_t k = 0; k < n - i; ++k) last[k] = x[k * x_step];
  store(Row::of(Vector<T>::load(last)), results);
  for (std::size_t k = 0; k < n - i; ++k) out[i + k] = results[k];
}

template <class T>
UnaryBlock<T> find_unary(op::UnaryFn fn) {
  switch (fn) {
#define KILN_UNARY(Name, ...)                                                              \
  case op::UnaryFn::Name:                                                                  \
    if constexpr (computes<T>(unary_rows::Name::kDomain)) return map<T, unary_rows::Name>; \
    else return nullptr;
#define KILN_PREDICATE(Name, ...) KILN_UNARY(Name, )
#define KILN_BINARY(...)
#define KILN_COMPARISON(...)
#include "kiln/ops/elementwise/elementwise.def"
  }
  return nullptr;
}
UnaryBlock<float> unary_float(op::UnaryFn fn) { return find_unary<float>(fn); }
UnaryBlock<double> unary_double(op::UnaryFn fn) { return find_unary<double>(fn); }

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(unary_float);
HWY_EXPORT(unary_double);
template <> UnaryBlock<float> unary_block(op::UnaryFn fn) { return HWY_DYNAMIC_DISPATCH(unary_float)(fn); }
template <> UnaryBlock<double> unary_block(op::UnaryFn fn) { return HWY_DYNAMIC_DISPATCH(unary_double)(fn); }

}  // namespace kiln::cpu::simd
#endif
