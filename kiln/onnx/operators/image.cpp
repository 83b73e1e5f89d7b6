// Pictures: the formats that are no more than rows of pixels, BMP and PNM, are read here, PNG and JPEG by kiln/picture.
// The others (TIFF, WebP, JPEG 2000) are refused by name.
#include <algorithm>
#include <cstring>

#include "kiln/onnx/operators/broadcast.hpp"
#include "kiln/picture/decode.hpp"

namespace kiln::onnx {
namespace {

using Stream = std::span<const std::uint8_t>;

constexpr std::int64_t kWidest = 1 << 16;

std::int64_t little(const Call& c, Stream stream, std::size_t at, std::size_t size) {
  c.check(at <= stream.size() && size <= stream.size() - at, "the picture ends at byte ", stream.size());
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < size; ++i) number |= static_cast<std::uint32_t>(stream[at + i]) << (8 * i);
  return static_cast<std::int32_t>(number);
}

Picture read_bmp(const Call& c, Stream stream) {
  const std::int64_t start = little(c, stream, 10, 4), height = little(c, stream, 22, 4),
                     bits = little(c, stream, 28, 2);
  const std::int64_t header = little(c, stream, 14, 4), compression = little(c, stream, 30, 4);
  Picture picture{.pixels = {}, .height = height < 0 ? -height : height, .width = little(c, stream, 18, 4)};
  c.check(picture.width > 0 && picture.width <= kWidest && picture.height > 0 && picture.height <= kWidest,
          "a picture of ", picture.width, " x ", height);
  c.check((bits == 8 || bits == 24 || bits == 32) && (compression == 0 || compression == 3), "a BMP of ", bits,
          " bits and compression ", compression);
  const std::int64_t bytes = bits / 8, row = (picture.width * bytes + 3) / 4 * 4, palette = 14 + header;
  c.check(start >= 0 && header >= 0 && start + row * picture.height <= static_cast<std::int64_t>(stream.size()),
          "the picture ends at byte ", stream.size());
  for (std::int64_t y = 0; y < picture.height; ++y) {
    const std::int64_t line = start + row * (height < 0 ? y : picture.height - 1 - y);
    for (std::int64_t x = 0; x < picture.width; ++x) {
      auto at = static_cast<std::size_t>(line + x * bytes);
      if (bytes == 1) at = static_cast<std::size_t>(palette + 4 * stream[at]);
      const std::int64_t pixel = little(c, stream, at, 3);
      for (const int shift : {16, 8, 0}) picture.pixels.push_back(static_cast<std::uint8_t>(pixel >> shift));
    }
  }
  return picture;
}

// P5 and P6 as bytes, P2 and P3 as words.
Picture read_pnm(const Call& c, Stream stream) {
  std::size_t at = 2;
  const auto number = [&] {
    const auto blank = [](std::uint8_t letter) { return letter == ' ' || (letter >= 9 && letter <= 13); };
    while (at < stream.size() && (blank(stream[at]) || stream[at] == '#')) {
      if (stream[at] == '#')
        while (at < stream.size() && stream[at] != '\n') ++at;
      else ++at;
    }
    std::int64_t value = 0;
    const std::size_t first = at;
    for (; at < stream.size() && stream[at] >= '0' && stream[at] <= '9' && value <= kWidest; ++at)
      value = value * 10 + (stream[at] - '0');
    c.check(at > first, "a number is missing at byte ", at, " of the picture");
    return value;
  };
  const char kind = static_cast<char>(stream[1]);
  Picture picture;
  picture.width = number();
  picture.height = number();
  const std::int64_t most = number();
  c.check(
      picture.width > 0 && picture.width <= kWidest && picture.height > 0 && picture.height <= kWidest && most == 255,
      "a picture of ", picture.width, " x ", picture.height, " with values up to ", most);
  const bool words = kind == '2' || kind == '3', gray = kind == '2' || kind == '5';
  ++at;
  const std::int64_t values = picture.width * picture.height * (gray ? 1 : 3);
  c.check(values <= static_cast<std::int64_t>(stream.size()), "the picture ends at byte ", stream.size());
  for (std::int64_t i = 0; i < values; ++i) {
    if (!words) c.check(at < stream.size(), "the picture ends at byte ", stream.size());
    const auto value = static_cast<std::uint8_t>(words ? number() : stream[at++]);
    picture.pixels.insert(picture.pixels.end(), gray ? 3 : 1, value);
  }
  return picture;
}

Results decode(Call& c) {
  c.check(c[0].dtype() == DType::U8 && c[0].rank() == 1, "the stream is ", c.datum(0));
  const TensorData data = c[0].data();
  const Stream stream = data.as<std::uint8_t>();
  const auto starts = [&](std::string_view with) {
    return stream.size() >= with.size() && std::memcmp(stream.data(), with.data(), with.size()) == 0;
  };
  const bool bmp = starts("BM"),
             pnm = stream.size() > 2 && stream[0] == 'P' && std::strchr("2356", stream[1]) && stream[1];
  const bool compressed = starts("\x89PNG") || starts("\xff\xd8\xff");
  const std::string_view other = starts("II*") || starts("MM") ? "TIFF"
                                 : starts("RIFF")              ? "WebP"
                                 : starts(std::string_view("\0\0\0\x0c", 4)) || starts("\xff\x4f")
                                     ? "JPEG 2000"
                                     : "an unknown format";
  c.check(bmp || pnm || compressed, "the picture is in ", other, "; BMP, JPEG, PNG and PNM are read");
  const Picture picture = bmp   ? read_bmp(c, stream)
                          : pnm ? read_pnm(c, stream)
                                : decode_picture(std::as_bytes(stream), "ImageDecoder: the picture");
  const std::string format = c.word("pixel_format", "RGB", {"RGB", "BGR", "Grayscale"});
  const bool gray = format == "Grayscale";
  TensorData out({picture.height, picture.width, gray ? 1 : 3}, DType::U8);
  const auto values = out.as<std::uint8_t>();
  for (std::size_t i = 0; i < picture.pixels.size() / 3; ++i) {
    const std::uint8_t* const pixel = picture.pixels.data() + 3 * i;
    // ITU-R 601-2 luma, in 16-bit fixed point.
    if (gray)
      values[i] = static_cast<std::uint8_t>((19595u * pixel[0] + 38470u * pixel[1] + 7471u * pixel[2] + 0x8000u) >> 16);
    else
      for (std::size_t k = 0; k < 3; ++k) values[3 * i + k] = pixel[format == "RGB" ? k : 2 - k];
  }
  return from_data(std::move(out), c.device());
}

constexpr OperatorRow kImageRows[] = {
    {"ImageDecoder", 20, decode, {.rank = ResultRank::OfData, .folds = false}},
};

}  // namespace

std::span<const OperatorRow> image_rows() { return kImageRows; }

}  // namespace kiln::onnx
