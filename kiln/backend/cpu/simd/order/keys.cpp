// Plain loops that the compiler vectorises, once per target.
#include "kiln/backend/cpu/simd/order/keys.hpp"
#include "kiln/backend/cpu/simd/each_type.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/order/keys.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

template <class T>
void keys_of(const T* HWY_RESTRICT x, std::int64_t count, bool descending, Key<T>* HWY_RESTRICT keys) {
  const auto flipped = static_cast<Key<T>>(descending ? ~Key<T>{0} : Key<T>{0});
  for (std::int64_t i = 0; i < count; ++i) keys[i] = static_cast<Key<T>>(key_of(x[i]) ^ flipped);
}

template <class K>
bool has_below(const K* keys, std::int64_t count, K limit) {
  bool found = false;
  for (std::int64_t i = 0; i < count; ++i) found |= keys[i] < limit;
  return found;
}

template <class T>
constexpr OrderKernels<T> kOrderKernels{keys_of<T>, has_below<Key<T>>};

#define KILN_KERNELS(T, name) \
  const OrderKernels<T>& order_##name() { return kOrderKernels<T>; }
KILN_EACH_NUMBER(KILN_KERNELS)
KILN_KERNELS(F16, f16)
KILN_KERNELS(BF16, bf16)
#undef KILN_KERNELS

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

#define KILN_KERNELS(T, name) \
  HWY_EXPORT(order_##name);   \
  template <> const OrderKernels<T>& order_kernels() { return HWY_DYNAMIC_DISPATCH(order_##name)(); }
KILN_EACH_NUMBER(KILN_KERNELS)
KILN_KERNELS(F16, f16)
KILN_KERNELS(BF16, bf16)
#undef KILN_KERNELS

}  // namespace kiln::cpu::simd
#endif
