// Winograd's F(2 x 2, 3 x 3) (Lavin and Gray 2015, arXiv:1509.09308): a tile of 2 x 2 results needs 4 x 4 elements of
// x. In a transformed basis their products with the weight are 16 multiplications, where the direct way takes 36. These
// functions transform into that basis and back, for many channels at once. All have a multiple of 16 channels.
#pragma once
#include <cstdint>

namespace kiln::cpu::conv {

/// The number of elements of a tile in that basis.
inline constexpr std::int64_t kWinogradPlaces = 16;

struct WinogradTransforms {
  /// Transforms a row of `tiles` tiles of an image [rows, columns, channels]. The first tile begins at (row, column);
  /// elements outside of the image are 0. Element p of tile t is written to to[p * step + t * channels].
  void (*input)(const float* image, std::int64_t rows, std::int64_t columns, std::int64_t channels, std::int64_t row,
                std::int64_t column, std::int64_t tiles, const float* zeros, float* to, std::int64_t step);
  /// Transforms a row of tiles back, with element p of tile t at from[p * step + t * channels], into the first 1 or 2
  /// `rows` and the `columns` of y. Rows of y are y_row apart, pixels y_pixel; bias [channels].
  void (*output)(const float* from, std::int64_t step, std::int64_t channels, std::int64_t tiles, const float* bias,
                 float* y, std::int64_t rows, std::int64_t columns, std::int64_t y_row, std::int64_t y_pixel);
  /// Transforms a weight whose number (i, j) of its 3 x 3 is at from[(3 * i + j) * tap]. Element p is written to to[p *
  /// step].
  void (*weight)(const float* from, std::int64_t tap, std::int64_t channels, float* to, std::int64_t step);
};

/// The functions for this processor.
const WinogradTransforms& winograd_transforms();

}  // namespace kiln::cpu::conv
