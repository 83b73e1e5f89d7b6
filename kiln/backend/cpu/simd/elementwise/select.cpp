#include "kiln/backend/cpu/simd/elementwise/select.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/elementwise/select.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

// Steps that are known let the compiler make vectors of the loop.
template <class Word, std::size_t x_step, std::size_t y_step>
HWY_INLINE void select_each(const std::uint8_t* HWY_RESTRICT condition, const Word* HWY_RESTRICT x,
                            const Word* HWY_RESTRICT y, Word* HWY_RESTRICT z, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const Word a = x[at * x_step], b = y[at * y_step];
    z[i] = condition[i] ? a : b;
  }
}

template <class Word>
void select_run(const std::uint8_t* condition, Run<Word> x, Run<Word> y, Word* z, std::int64_t count) {
  if (x.step && y.step) select_each<Word, 1, 1>(condition, x.data, y.data, z, count);
  else if (x.step) select_each<Word, 1, 0>(condition, x.data, y.data, z, count);
  else if (y.step) select_each<Word, 0, 1>(condition, x.data, y.data, z, count);
  else select_each<Word, 0, 0>(condition, x.data, y.data, z, count);
}
void select_8(const std::uint8_t* c, Run<std::uint8_t> x, Run<std::uint8_t> y, std::uint8_t* z, std::int64_t count) {
  select_run(c, x, y, z, count);
}
void select_16(const std::uint8_t* c, Run<std::uint16_t> x, Run<std::uint16_t> y, std::uint16_t* z,
               std::int64_t count) {
  select_run(c, x, y, z, count);
}
void select_32(const std::uint8_t* c, Run<std::uint32_t> x, Run<std::uint32_t> y, std::uint32_t* z,
               std::int64_t count) {
  select_run(c, x, y, z, count);
}
void select_64(const std::uint8_t* c, Run<std::uint64_t> x, Run<std::uint64_t> y, std::uint64_t* z,
               std::int64_t count) {
  select_run(c, x, y, z, count);
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(select_8);
HWY_EXPORT(select_16);
HWY_EXPORT(select_32);
HWY_EXPORT(select_64);

template <class Word>
void select_block(Run<std::uint8_t> condition, Run<Word> x, Run<Word> y, Word* z, std::int64_t count) {
  if (condition.step == 0) {  // the same for all
    const Run<Word> chosen = *condition.data ? x : y;
    if (chosen.step) std::copy_n(chosen.data, count, z);
    else std::fill_n(z, count, *chosen.data);
  } else if constexpr (sizeof(Word) == 1) {
    HWY_DYNAMIC_DISPATCH(select_8)(condition.data, x, y, z, count);
  } else if constexpr (sizeof(Word) == 2) {
    HWY_DYNAMIC_DISPATCH(select_16)(condition.data, x, y, z, count);
  } else if constexpr (sizeof(Word) == 4) {
    HWY_DYNAMIC_DISPATCH(select_32)(condition.data, x, y, z, count);
  } else {
    HWY_DYNAMIC_DISPATCH(select_64)(condition.data, x, y, z, count);
  }
}
template void select_block(Run<std::uint8_t>, Run<std::uint8_t>, Run<std::uint8_t>, std::uint8_t*, std::int64_t);
template void select_block(Run<std::uint8_t>, Run<std::uint16_t>, Run<std::uint16_t>, std::uint16_t*, std::int64_t);
template void select_block(Run<std::uint8_t>, Run<std::uint32_t>, Run<std::uint32_t>, std::uint32_t*, std::int64_t);
template void select_block(Run<std::uint8_t>, Run<std::uint64_t>, Run<std::uint64_t>, std::uint64_t*, std::int64_t);

}  // namespace kiln::cpu::simd
#endif
