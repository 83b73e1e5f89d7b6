// Updates rows in place. The compiler vectorises the loops over integers.
#include "kiln/backend/cpu/simd/index/update.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/index/update.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include "kiln/backend/cpu/simd/vector.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

template <class T, Update update>
void update_elements(T* HWY_RESTRICT z, const T* HWY_RESTRICT source, std::int64_t n) {
  std::int64_t i = 0;
  if constexpr (std::is_floating_point_v<T>) {
    constexpr auto lanes = static_cast<std::int64_t>(kLanes<T>);
    for (; i + lanes <= n; i += lanes) {
      const auto old = Vector<T>::load(z + i), written = Vector<T>::load(source + i);
      if constexpr (update == Update::Add) store(old + written, z + i);
      else if constexpr (update == Update::Mul) store(old * written, z + i);
      else if constexpr (update == Update::Min) store(min(written, old), z + i);
      else store(max(written, old), z + i);
    }
  }
  for (; i < n; ++i) z[i] = updated<update>(z[i], source[i]);
}

template <class T>
UpdateRow<T> find_update(Update update) {
  switch (update) {
    case Update::Assign: break;
    case Update::Add: return update_elements<T, Update::Add>;
    case Update::Mul: return update_elements<T, Update::Mul>;
    case Update::Min: return update_elements<T, Update::Min>;
    case Update::Max: return update_elements<T, Update::Max>;
  }
  return nullptr;
}
UpdateRow<float> update_float(Update update) { return find_update<float>(update); }
UpdateRow<double> update_double(Update update) { return find_update<double>(update); }
UpdateRow<std::int32_t> update_int32(Update update) { return find_update<std::int32_t>(update); }
UpdateRow<std::int64_t> update_int64(Update update) { return find_update<std::int64_t>(update); }

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {
namespace {

template <class T>
void assign_row(T* z, const T* source, std::int64_t n) {
  std::copy_n(source, n, z);
}

}  // namespace

#define KILN_UPDATE_ROW(T, function)                                                           \
  HWY_EXPORT(function);                                                                        \
  template <> UpdateRow<T> update_row(Update update) {                                         \
    return update == Update::Assign ? &assign_row<T> : HWY_DYNAMIC_DISPATCH(function)(update); \
  }
KILN_UPDATE_ROW(float, update_float)
KILN_UPDATE_ROW(double, update_double)
KILN_UPDATE_ROW(std::int32_t, update_int32)
KILN_UPDATE_ROW(std::int64_t, update_int64)
#undef KILN_UPDATE_ROW

template <> UpdateRow<std::uint8_t> update_row(Update) { return &assign_row<std::uint8_t>; }
template <> UpdateRow<std::uint16_t> update_row(Update) { return &assign_row<std::uint16_t>; }
template <> UpdateRow<std::uint32_t> update_row(Update) { return &assign_row<std::uint32_t>; }
template <> UpdateRow<std::uint64_t> update_row(Update) { return &assign_row<std::uint64_t>; }

}  // namespace kiln::cpu::simd
#endif
