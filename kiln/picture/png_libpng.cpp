#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/picture/decode.hpp"

namespace kiln::picture {
namespace {

/// libpng, a C library, reports errors by longjmp: this skips only its own frames, since the functions that call setjmp
/// have nothing to destroy.
struct PngDecoder {
  explicit PngDecoder(std::span<const std::byte> file) : rest(file) {}
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;
  ~PngDecoder() { png_destroy_read_struct(&png, &info, nullptr); }

  std::span<const std::byte> rest;
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::jmp_buf leave{};
  char problem[200] = "no memory for it";
};

[[noreturn]] void on_png_error(png_structp png, png_const_charp message) {
  auto& decoder = *static_cast<PngDecoder*>(png_get_error_ptr(png));
  std::snprintf(decoder.problem, sizeof decoder.problem, "%s", message);
  std::longjmp(decoder.leave, 1);
}
void on_png_warning(png_structp, png_const_charp) {}

void read_bytes(png_structp png, png_bytep to, png_size_t count) {
  std::span<const std::byte>& rest = static_cast<PngDecoder*>(png_get_io_ptr(png))->rest;
  if (count > rest.size()) png_error(png, "it is cut off");
  std::memcpy(to, rest.data(), count);
  rest = rest.subspan(count);
}

/// Reads until the pixels begin. Gamma, colour spaces, transparency, texts and profiles are skipped, whatever their
/// size. Returns false where the decoder has an error.
bool read_header(PngDecoder& decoder) {
  constexpr png_byte kTransparency[] = "tRNS";
  constexpr png_uint_32 kLongest = 0x7fffffff;  // the format's limit; the limits of the config are checked later
  if (setjmp(decoder.leave)) return false;
  decoder.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &decoder, on_png_error, on_png_warning);
  if (!decoder.png) return false;
  decoder.info = png_create_info_struct(decoder.png);
  if (!decoder.info) return false;
  png_set_read_fn(decoder.png, &decoder, read_bytes);
  png_set_user_limits(decoder.png, kLongest, kLongest);
  png_set_keep_unknown_chunks(decoder.png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_set_keep_unknown_chunks(decoder.png, PNG_HANDLE_CHUNK_NEVER, kTransparency, 1);
  png_read_info(decoder.png, decoder.info);
  return true;
}

/// Reads rows of one or three channels, to the end of the file. `as_kept` leaves numbers of any depth unchanged.
bool read_rows(PngDecoder& decoder, unsigned char* to, std::size_t row_bytes, bool as_kept) {
  if (setjmp(decoder.leave)) return false;
  png_structp png = decoder.png;
  if (!as_kept) png_set_strip_16(png);
  png_set_strip_alpha(png);
  if (as_kept || png_get_color_type(png, decoder.info) == PNG_COLOR_TYPE_PALETTE) png_set_packing(png);
  else if (png_get_color_type(png, decoder.info) == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(png);
  const int passes = png_set_interlace_handling(png);
  png_read_update_info(png, decoder.info);
  if (png_get_rowbytes(png, decoder.info) != row_bytes) png_error(png, "its rows have another length than they should");
  const png_uint_32 height = png_get_image_height(png, decoder.info);
  for (int pass = 0; pass < passes; ++pass)
    for (png_uint_32 y = 0; y < height; ++y) png_read_row(png, to + y * row_bytes, nullptr);
  png_read_end(png, nullptr);
  return true;
}

/// The size of the compressed pixels; errors in chunks are left to libpng.
std::uint64_t compressed_bytes(std::span<const std::byte> file) {
  constexpr std::size_t kSignature = 8, kHead = 8, kCrc = 4;
  std::uint64_t total = 0;
  for (std::size_t at = kSignature; file.size() - at >= kHead;) {
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) length = length << 8 | std::to_integer<std::uint64_t>(file[at + i]);
    const std::uint64_t there = std::min<std::uint64_t>(length, file.size() - at - kHead);
    if (std::memcmp(&file[at + 4], "IDAT", 4) == 0) total += there;
    if (length + kCrc > file.size() - at - kHead) break;
    at += kHead + static_cast<std::size_t>(length) + kCrc;
  }
  return total;
}

/// Expands one channel to three in place, from the end to the beginning.
template <class Colours>
void spread(Picture& picture, const Colours& colours) {
  const std::size_t count = picture.pixels.size() / 3;
  for (std::size_t i = count; i-- > 0;) {
    const std::uint8_t value = picture.pixels[i];
    for (std::size_t c = 0; c < 3; ++c) picture.pixels[3 * i + c] = colours(value, c);
  }
}

/// The numbers of `kept`, whose pixels have `channels` channels of `bytes` bytes each.
Picture numbers_of(const Picture& kept, std::size_t channels, std::size_t bytes, std::string_view name) {
  Picture numbers = blank(kept.height, kept.width, 1);
  const std::uint8_t* pixel = kept.pixels.data();
  for (std::uint8_t& number : numbers.pixels) {
    for (std::size_t c = 1; c < channels; ++c)
      require<DataError>(std::memcmp(pixel, pixel + c * bytes, bytes) == 0, name,
                         ": its pixels have colours, not one number each");
    require<DataError>(bytes == 1 || pixel[0] == 0, name, ": holds the number ", pixel[0] * 256 + pixel[bytes - 1],
                       ", but numbers of pixels are at most 255");
    number = pixel[bytes - 1];
    pixel += channels * bytes;
  }
  return numbers;
}

}  // namespace

Picture decode_png(std::span<const std::byte> file, std::string_view name, const DecodeConfig& config) {
  PngDecoder decoder(file);
  const auto refuse = [&] { fail<DataError>(name, ": is a damaged PNG file: ", shown(decoder.problem)); };
  if (!read_header(decoder)) refuse();
  const std::int64_t height = png_get_image_height(decoder.png, decoder.info);
  const std::int64_t width = png_get_image_width(decoder.png, decoder.info);
  require_allowed(name, height, width, file.size(), config);
  const int type = png_get_color_type(decoder.png, decoder.info), depth = png_get_bit_depth(decoder.png, decoder.info);
  const std::uint64_t inflated = static_cast<std::uint64_t>(height * width) * static_cast<std::uint64_t>(depth) *
                                 png_get_channels(decoder.png, decoder.info) / 8;
  constexpr std::uint64_t kMostInflation = 1032;  // the limit of deflate
  const std::uint64_t compressed = compressed_bytes(file);
  require<DataError>(inflated / kMostInflation <= compressed, name, ": is a damaged PNG file: ", height, " x ", width,
                     " pixels are ", inflated, " bytes, which ", compressed, " compressed ones cannot give");

  const bool palette = type == PNG_COLOR_TYPE_PALETTE, coloured = !palette && (type & PNG_COLOR_MASK_COLOR);
  const bool numbers = config.channels == Channels::Numbers, grey = config.channels == Channels::Grey;
  const std::int64_t read = coloured ? 3 : 1, bytes = numbers && depth == 16 ? 2 : 1;
  // Allocates three channels where one channel becomes three.
  Picture picture = blank(height, width, numbers || (grey && !palette) ? read * bytes : 3);
  if (!read_rows(decoder, picture.pixels.data(), static_cast<std::size_t>(width * read * bytes), numbers)) refuse();
  if (numbers) return numbers_of(picture, static_cast<std::size_t>(read), static_cast<std::size_t>(bytes), name);
  if (palette) {
    png_colorp colours = nullptr;
    int count = 0;
    png_get_PLTE(decoder.png, decoder.info, &colours, &count);
    spread(picture, [&](std::uint8_t value, std::size_t c) -> std::uint8_t {
      if (value >= count) return 0;  // as the format recommends
      return c == 0 ? colours[value].red : c == 1 ? colours[value].green : colours[value].blue;
    });
  } else if (!coloured && !grey) {
    spread(picture, [](std::uint8_t value, std::size_t) { return value; });
  }
  if (grey) return grey_of(picture);
  return picture;
}

}  // namespace kiln::picture
