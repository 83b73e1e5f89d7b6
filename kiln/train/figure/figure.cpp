#include "kiln/train/figure/figure.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kiln/core/error/error.hpp"
#include "kiln/core/size.hpp"
#include "kiln/data/png.hpp"
#include "kiln/train/log/line_log.hpp"

namespace kiln {
namespace {

std::string list_of(const std::vector<double>& numbers) {
  std::string list = "[";
  for (const double number : numbers) list += text(list.size() > 1 ? "," : "", json_number(number));
  return list + ']';
}

/// RFC 4648, section 4.
std::string base64(std::string_view bytes) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t bits = 0;
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t j = 0; j < 3; ++j) bits = bits << 8 | (j < count ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    for (std::size_t j = 0; j < 4; ++j) out += j <= count ? kLetters[bits >> (18 - 6 * j) & 63] : '=';
  }
  return out;
}

void require_cells(const Matrix& matrix) {
  const bool fits = matrix.rows >= 0 && matrix.columns >= 0 &&
                    std::ssize(matrix.cells) == multiply_sizes("matrix", matrix.rows, matrix.columns);
  require<ShapeError>(fits, "matrix: ", matrix.cells.size(), " cells are not ", matrix.rows, " rows of ",
                      matrix.columns);
}

std::string string_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

double Histogram::count() const { return std::accumulate(counts.begin(), counts.end(), 0.0); }

Histogram histogram_of(std::span<const float> values, int buckets) {
  require<ArgumentError>(buckets >= 1 && buckets <= 10000, "histogram: ", buckets, " ranges; there must be 1 to 10000");
  Histogram made;
  double least = std::numeric_limits<double>::infinity(), greatest = -least;
  for (const float value : values) {
    if (!std::isfinite(value)) {
      ++made.not_finite;
      continue;
    }
    least = std::min<double>(least, value);
    greatest = std::max<double>(greatest, value);
  }
  if (least > greatest) return made;
  if (least == greatest) {  // all values are the same: ranges around it
    const double half = std::max(std::abs(least) * 1e-6, 1e-12);
    least -= half;
    greatest += half;
  }
  const double width = (greatest - least) / buckets;
  for (int i = 0; i <= buckets; ++i) made.edges.push_back(i < buckets ? least + i * width : greatest);
  made.counts.resize(static_cast<std::size_t>(buckets));
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    const auto bucket = std::min(static_cast<int>((value - least) / width), buckets - 1);
    ++made.counts[static_cast<std::size_t>(bucket)];
    made.sum += value;
    made.squares += static_cast<double>(value) * value;
  }
  return made;
}

Image image_of(const Matrix& matrix) {
  require_cells(matrix);
  const std::int64_t scale = std::clamp<std::int64_t>(256 / std::max<std::int64_t>(matrix.rows, 1), 1, 24);
  Image image{.pixels = {}, .height = matrix.rows * scale, .width = matrix.columns * scale};
  image.pixels.resize(static_cast<std::size_t>(image.height * image.width));
  for (std::int64_t y = 0; y < image.height; ++y) {
    const auto row = matrix.cells.begin() + y / scale * matrix.columns;
    const double sum = std::accumulate(row, row + matrix.columns, 0.0);
    for (std::int64_t x = 0; x < image.width; ++x)
      image.pixels[static_cast<std::size_t>(y * image.width + x)] =
          sum > 0 ? static_cast<float>(row[x / scale] / sum) : 0;
  }
  return image;
}

PngPicture png_of(const Image& image) { return {image.height, image.width, 1, string_of(encode_png(image))}; }
PngPicture png_of(const Picture& picture) {
  return {picture.height, picture.width, picture.channels, string_of(encode_picture(picture))};
}

std::string json_of(const Histogram& histogram) {
  return text("{\"edges\":", list_of(histogram.edges), ",\"counts\":", list_of(histogram.counts), '}');
}

std::string json_of(const Matrix& matrix) {
  require_cells(matrix);
  std::string names;
  for (const std::string& name : matrix.names) names += text(names.empty() ? "" : ",", json_text(name));
  return text("{\"rows\":", matrix.rows, ",\"columns\":", matrix.columns, ",\"cells\":", list_of(matrix.cells),
              ",\"names\":[", names, "]}");
}

std::string json_of(const PngPicture& picture) {
  return text("{\"height\":", picture.height, ",\"width\":", picture.width, ",\"png\":\"", base64(picture.bytes),
              "\"}");
}

}  // namespace kiln
