// Logs and displays show these beside numbers and words: histograms, matrices and pictures.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

struct Image;
struct Picture;

/// How many of many values lie in each range: counts[i] of those from edges[i] to edges[i + 1]. The last range includes
/// its upper edge.
struct Histogram {
  std::vector<double> edges{}, counts{};
  double sum = 0, squares = 0;  // of the values, and of their squares
  std::int64_t not_finite = 0;  // values that no range has: infinities and NaN

  /// The number of values that are finite.
  double count() const;
};

/// The values in `buckets` ranges of equal width from the least to the greatest. Without a finite value there are no
/// ranges. Throws ArgumentError for less than 1 or more than 10000 ranges.
Histogram histogram_of(std::span<const float> values, int buckets = 30);

/// A table of numbers, such as a confusion matrix.
struct Matrix {
  std::int64_t rows = 0, columns = 0;
  std::vector<double> cells{};       // [rows, columns]
  std::vector<std::string> names{};  // of rows and columns; their numbers where there is none
};
/// The matrix as grey squares, each row relative to its sum: white for all of a row. Throws ShapeError unless there are
/// rows * columns cells.
Image image_of(const Matrix& matrix);

/// A picture as the bytes of a PNG file.
struct PngPicture {
  std::int64_t height = 0, width = 0, channels = 1;
  std::string bytes{};
};
/// Throws what encode_png() and encode_picture() throw.
PngPicture png_of(const Image& image);
PngPicture png_of(const Picture& picture);

/// {"edges":[0,1,2],"counts":[5,1]}, {"rows":2,"columns":2,"cells":[1,0,0,1],"names":["cat","dog"]} and
/// {"height":8,"width":8,"png":"iVBO..."}, in base64. Throws ShapeError for a matrix of another number of cells.
std::string json_of(const Histogram& histogram);
std::string json_of(const Matrix& matrix);
std::string json_of(const PngPicture& picture);

}  // namespace kiln
