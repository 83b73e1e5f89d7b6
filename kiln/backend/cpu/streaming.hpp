// Writes past the caches, on processors that can: results that do not fit into the caches are then not read first, and
// do not push out other data.
#pragma once
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace kiln::cpu {

#if defined(__SSE2__)
inline constexpr bool kCanStream = true;
/// Copies sixteen bytes; both addresses are multiples of sixteen.
inline void stream_vector(const void* from, void* to) {
  _mm_stream_si128(static_cast<__m128i*>(to), _mm_load_si128(static_cast<const __m128i*>(from)));
}
/// Call it on the thread that streamed, before another thread may read the data.
inline void finish_streaming() { _mm_sfence(); }
#else
inline constexpr bool kCanStream = false;
inline void stream_vector(const void* from, void* to) { std::memcpy(to, from, 16); }
inline void finish_streaming() {}
#endif

}  // namespace kiln::cpu
