#include "kiln/backend/cpu/simd/elementwise/stream.hpp"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/elementwise/stream.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void stream_bytes(const std::uint8_t* from, std::uint8_t* to, std::int64_t bytes) {
  const hn::ScalableTag<std::uint8_t> tag;
  const auto width = static_cast<std::int64_t>(hn::Lanes(tag));
  const std::int64_t unaligned = -reinterpret_cast<std::intptr_t>(to) & (width - 1);
  std::int64_t at = std::min(unaligned, bytes);
  std::memcpy(to, from, static_cast<std::size_t>(at));
  for (; at + width <= bytes; at += width) hn::Stream(hn::LoadU(tag, from + at), tag, to + at);
  std::memcpy(to + at, from + at, static_cast<std::size_t>(bytes - at));
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(stream_bytes);
void stream(const void* from, void* to, std::int64_t bytes) {
  HWY_DYNAMIC_DISPATCH(stream_bytes)(static_cast<const std::uint8_t*>(from), static_cast<std::uint8_t*>(to), bytes);
}

}  // namespace kiln::cpu::simd
#endif
