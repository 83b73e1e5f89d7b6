// Winograd's F(2 x 2, 3 x 3) (Lavin and Gray 2015, arXiv:1509.09308): a tile of 2 x 2 results needs 4 x 4 elements of x;
// in another basis their products with the weight are 16 of single numbers, where the plain way takes 36. These are the
// ways into that basis and out of it, of many channels at once. All have a multiple of 16 channels.
#pragma once
#include <cstdint>

namespace kiln::cpu::conv {

/// Places of a tile in that basis.
inline constexpr std::int64_t kWinogradPlaces = 16;

struct WinogradTransforms {
  /// A row of `tiles` tiles of an image [rows, columns, channels]; the first begins at (row, column), and what lies
  /// outside of the image is 0. Place p of tile t goes to to[p * step + t * channels].
  void (*input)(const float* image, std::int64_t rows, std::int64_t columns, std::int64_t channels, std::int64_t row,
                std::int64_t column, std::int64_t tiles, const float* zeros, float* to, std::int64_t step);
  /// A row of tiles, place p of tile t at from[p * step + t * channels], to the first 1 or 2 `rows` and the `columns` of
  /// y there: those lie y_row apart, and y_pixel. bias [channels].
  void (*output)(const float* from, std::int64_t step, std::int64_t channels, std::int64_t tiles, const float* bias,
                 float* y, std::int64_t rows, std::int64_t columns, std::int64_t y_row, std::int64_t y_pixel);
  /// A weight: number (i, j) of its 3 x 3 at from[(3 * i + j) * tap]. Place p goes to to[p * step].
  void (*weight)(const float* from, std::int64_t tap, std::int64_t channels, float* to, std::int64_t step);
};

/// For the machine at hand.
const WinogradTransforms& winograd_transforms();

}  // namespace kiln::cpu::conv
