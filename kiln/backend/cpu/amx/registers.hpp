// Helpers of the files that are compiled for processors with AVX512-BF16 only. Each file has its own copies.
#pragma once
#include <immintrin.h>

#include <cstdint>

#ifdef __AVX512BF16__

namespace kiln::cpu::amx {
namespace {

/// The mask of the first `count` of 32 lanes.
[[maybe_unused]] inline __mmask32 first(std::int64_t count) {
  return count >= 32 ? ~__mmask32{0} : (__mmask32{1} << count) - 1;
}

[[maybe_unused]] inline __m512i bits_of(__m512bh numbers) {
  __m512i bits;
  static_assert(sizeof bits == sizeof numbers);
  __builtin_memcpy(&bits, &numbers, sizeof bits);
  return bits;
}
[[maybe_unused]] inline __m512bh numbers_in(__m512i bits) {
  __m512bh numbers;
  static_assert(sizeof bits == sizeof numbers);
  __builtin_memcpy(&numbers, &bits, sizeof numbers);
  return numbers;
}

}  // namespace
}  // namespace kiln::cpu::amx

#endif
