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
HWY_INLINE void keys_of(const T* HWY_RESTRICT x, std::int64_t count, bool descending, Key<T>* HWY_RESTRICT keys) {
  const auto flipped = static_cast<Key<T>>(descending ? ~Key<T>{0} : Key<T>{0});
  for (std::int64_t i = 0; i < count; ++i) keys[i] = static_cast<Key<T>>(key_of(x[i]) ^ flipped);
}

template <class K>
HWY_INLINE bool has_below(const K* keys, std::int64_t count, K limit) {
  bool found = false;
  for (std::int64_t i = 0; i < count; ++i) found |= keys[i] < limit;
  return found;
}

#define KILN_KEYS(T, name)                                                          \
  void keys_##name(const T* x, std::int64_t count, bool descending, Key<T>* keys) { \
    keys_of<T>(x, count, descending, keys);                                         \
  }
#define KILN_BELOW(K, name) \
  bool below_##name(const K* keys, std::int64_t count, K limit) { return has_below<K>(keys, count, limit); }
KILN_EACH_NUMBER(KILN_KEYS)
KILN_KEYS(F16, f16)
KILN_KEYS(BF16, bf16)
KILN_EACH_UNSIGNED(KILN_BELOW)
#undef KILN_KEYS
#undef KILN_BELOW

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

#define KILN_KEYS(T, name)                                                         \
  HWY_EXPORT(keys_##name);                                                         \
  template <>                                                                      \
  void order_keys(const T* x, std::int64_t count, bool descending, Key<T>* keys) { \
    HWY_DYNAMIC_DISPATCH(keys_##name)(x, count, descending, keys);                 \
  }
#define KILN_BELOW(K, name)                                        \
  HWY_EXPORT(below_##name);                                        \
  template <>                                                      \
  bool any_below(const K* keys, std::int64_t count, K limit) {     \
    return HWY_DYNAMIC_DISPATCH(below_##name)(keys, count, limit); \
  }
KILN_EACH_NUMBER(KILN_KEYS)
KILN_KEYS(F16, f16)
KILN_KEYS(BF16, bf16)
KILN_EACH_UNSIGNED(KILN_BELOW)
#undef KILN_KEYS
#undef KILN_BELOW

}  // namespace kiln::cpu::simd
#endif
