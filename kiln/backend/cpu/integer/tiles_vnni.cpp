// Compiled for processors with VNNI only (CMakeLists.txt): like amx/tiles.cpp, it includes nothing of the standard
// library.
#include <immintrin.h>

#include "kiln/backend/cpu/integer/tiles.hpp"

namespace kiln::cpu::integer {
namespace {

using std::int64_t;

inline __m512i quad(const std::uint8_t* from) {
  int bytes;
  __builtin_memcpy(&bytes, from, sizeof bytes);
  return _mm512_set1_epi32(bytes);
}

template <int Rows, int Panels>
inline void tile(const Block& block) {
  __m512i sums[Rows][Panels];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < Panels; ++j) sums[i][j] = _mm512_setzero_si512();
  for (int64_t k = 0; k < block.depth; k += kQuad) {
    __m512i right[Panels];
#pragma GCC unroll 8
    for (int j = 0; j < Panels; ++j) right[j] = _mm512_loadu_si512(block.right + j * block.panel_step + k * kPanel);
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const __m512i left = quad(block.left + i * block.step + k);
#pragma GCC unroll 8
      for (int j = 0; j < Panels; ++j) sums[i][j] = _mm512_dpbusd_epi32(sums[i][j], left, right[j]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < Panels; ++j) _mm512_storeu_si512(block.sums + i * block.row + j * kPanel, sums[i][j]);
}

/// Computes as many sums as registers hold: few rows times many panels, which are read side by side.
template <int Rows>
void rows_of(Block block, int64_t panels) {
  constexpr int kTogether = Rows <= 2 ? 8 : Rows <= 4 ? 4 : 2;
  for (; panels >= kTogether; panels -= kTogether) {
    tile<Rows, kTogether>(block);
    block.right += kTogether * block.panel_step;
    block.sums += kTogether * kPanel;
  }
  for (; panels > 0; --panels) {
    tile<Rows, 1>(block);
    block.right += block.panel_step;
    block.sums += kPanel;
  }
}

}  // namespace

void multiply_vnni(const std::uint8_t* left, int64_t step, int64_t count, const std::int8_t* right, int64_t panel_step,
                   int64_t panels, int64_t depth, std::int32_t* sums, int64_t row) {
  constexpr int64_t kMost = 12;
  static constexpr void (*kRows[])(Block, int64_t) = {rows_of<1>, rows_of<2>,  rows_of<3>,  rows_of<4>,
                                                      rows_of<5>, rows_of<6>,  rows_of<7>,  rows_of<8>,
                                                      rows_of<9>, rows_of<10>, rows_of<11>, rows_of<12>};
  for (int64_t i = 0; i < count; i += kMost)
    kRows[(count - i < kMost ? count - i : kMost) - 1](
        {left + i * step, step, right, panel_step, depth, sums + i * row, row}, panels);
}

}  // namespace kiln::cpu::integer
