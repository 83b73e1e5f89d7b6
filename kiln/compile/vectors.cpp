// This text stands above the code of tiles: vectors of the compiler, and halves as floats.
#include "kiln/compile/tile.hpp"

namespace kiln::compile {

const std::string_view kVectors =
    "#ifdef KILN_LANES /* given to the compiler */\n#elif defined(__GNUC__) && defined(__AVX512F__)\n#define "
    "KILN_LANES 16\n#elif defined(__GNUC__) && defined(__AVX__)\n"
    "#define KILN_LANES 8\n#elif defined(__GNUC__)\n#define KILN_LANES 4\n#else\n#define KILN_LANES 1\n#endif\n"
    "#if KILN_LANES != 1 && KILN_LANES != 4 && KILN_LANES != 8 && KILN_LANES != 16\n"
    "#error \"KILN_LANES must be 1, 4, 8 or 16\"\n#endif\n"
    "#if KILN_LANES > 1\n"
    "typedef float kiln_vector __attribute__((vector_size(4 * KILN_LANES)));\n"
    "typedef float kiln_vector_memory __attribute__((vector_size(4 * KILN_LANES), aligned(4), may_alias));\n"
    "#define KILN_GATHER(to, from, stride) for (lane = 0; lane < KILN_LANES; ++lane) to[lane] = (from)[lane * "
    "(stride)]\n"
    "#else\n"
    "typedef float kiln_vector;\ntypedef float kiln_vector_memory;\n"
    "#define KILN_GATHER(to, from, stride) to = *(from)\n"
    "#endif\n"
    "/* Every second element: of two loads, the last of which ends with what is needed. */\n"
    "#if KILN_LANES == 16\n#define KILN_SECONDS 0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31\n"
    "#elif KILN_LANES == 8\n#define KILN_SECONDS 0, 2, 4, 6, 9, 11, 13, 15\n"
    "#else\n#define KILN_SECONDS 0, 2, 5, 7\n#endif\n"
    "#ifdef __has_builtin\n#if __has_builtin(__builtin_shufflevector) && KILN_LANES > 1\n"
    "#define KILN_GATHER_2(to, from) to = __builtin_shufflevector(*(const kiln_vector_memory*)(from), \\\n"
    "  *(const kiln_vector_memory*)((from) + KILN_LANES - 1), KILN_SECONDS)\n"
    "#endif\n#endif\n#ifndef KILN_GATHER_2\n#define KILN_GATHER_2(to, from) KILN_GATHER(to, from, 2)\n#endif\n";

const std::string_view kVectorsOfHalves =
    "/* Halves as floats: by the processor, or one after the other. */\n"
    "#if KILN_LANES > 1\n"
    "#define KILN_EACH_LANE(to, element) for (lane = 0; lane < KILN_LANES; ++lane) to[lane] = element\n"
    "#else\n"
    "#define KILN_EACH_LANE(to, element) do { lane = 0; to = element; } while (0)\n"
    "#endif\n"
    "#if defined(__GNUC__) && defined(__F16C__)\n#include <immintrin.h>\n"
    "#define KILN_HALF(bits, element) _cvtsh_ss(bits)\n"
    "#if KILN_LANES == 16 && defined(__AVX512F__)\n"
    "#define KILN_HALVES(to, from, element) \\\n"
    "  to = (kiln_vector)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i_u*)(const void*)(from)))\n"
    "#elif KILN_LANES == 8\n"
    "#define KILN_HALVES(to, from, element) \\\n"
    "  to = (kiln_vector)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i_u*)(const void*)(from)))\n"
    "#endif\n#elif defined(__GNUC__) && defined(__aarch64__)\n#include <arm_neon.h>\n"
    "#define KILN_HALF(bits, element) vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(bits))), 0)\n"
    "#if KILN_LANES == 4\n#define KILN_HALVES(to, from, element) \\\n"
    "  to = (kiln_vector)vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16((const uint16_t*)(const void*)(from))))\n"
    "#endif\n#else\n#define KILN_HALF(bits, element) element\n#endif\n"
    "#ifndef KILN_HALVES\n#define KILN_HALVES(to, from, element) KILN_EACH_LANE(to, element)\n#endif\n";

}  // namespace kiln::compile
