#include <csetjmp>
#include <cstdio>  // before jpeglib.h, which needs it

#include <jerror.h>
#include <jpeglib.h>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/picture/decode.hpp"

namespace kiln::picture {
namespace {

/// libjpeg, a C library, reports errors by longjmp: this skips only its own frames, since decode() below has nothing to
/// destroy.
struct Decoder {
  jpeg_decompress_struct state{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf leave{};
  char problem[JMSG_LENGTH_MAX] = {};

  Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() { jpeg_destroy_decompress(&state); }
};

/// Messages of libjpeg about files whose pixels are certain.
bool is_harmless(int message) {
  switch (message) {
    case JWRN_EXTRANEOUS_DATA:  // stray bytes between segments
    case JWRN_ADOBE_XFORM:      // an undocumented number of Adobe's, which means YCbCr or YCCK
    case JWRN_JFIF_MAJOR:       // a later version of a marker that does not affect pixels
    case JWRN_NOT_SEQUENTIAL:   // fields that only progressive files use
      return true;
    default: return false;
  }
}

/// Treats damage that libjpeg would hide as an error: a truncated file, data that do not decode.
void on_message(j_common_ptr state, int level) {
  if (level >= 0 || is_harmless(state->err->msg_code)) return;
  auto& decoder = *static_cast<Decoder*>(state->client_data);
  state->err->format_message(state, decoder.problem);
  std::longjmp(decoder.leave, 1);
}
void on_error(j_common_ptr state) {
  auto& decoder = *static_cast<Decoder*>(state->client_data);
  state->err->format_message(state, decoder.problem);
  std::longjmp(decoder.leave, 1);
}

/// Each scan of a progressive file goes over the whole picture, and takes a dozen bytes: a file could contain some
/// hundred thousand of them and take very long.
void on_progress(j_common_ptr state) {
  constexpr int kMostScans = 100;  // as many as libjpeg's own programs write
  auto& decoder = *static_cast<Decoder*>(state->client_data);
  if (decoder.state.input_scan_number <= kMostScans) return;
  std::snprintf(decoder.problem, sizeof decoder.problem, "it has more than %d scans", kMostScans);
  std::longjmp(decoder.leave, 1);
}

/// Reads until the size is known. Returns false where the decoder has an error.
bool read_header(Decoder& decoder, std::span<const std::byte> file) {
  if (setjmp(decoder.leave)) return false;
  decoder.state.client_data = &decoder;  // set before the next call, which may already fail on a version mismatch
  jpeg_create_decompress(&decoder.state);
  decoder.progress.progress_monitor = on_progress;
  decoder.state.progress = &decoder.progress;
  jpeg_mem_src(&decoder.state, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&decoder.state, TRUE);
  return true;
}
bool read_rows(Decoder& decoder, unsigned char* to, std::size_t row_bytes) {
  if (setjmp(decoder.leave)) return false;
  jpeg_start_decompress(&decoder.state);
  while (decoder.state.output_scanline < decoder.state.output_height) {
    JSAMPROW row = to + decoder.state.output_scanline * row_bytes;
    jpeg_read_scanlines(&decoder.state, &row, 1);
  }
  jpeg_finish_decompress(&decoder.state);
  return true;
}

/// Converts four inks, stored inverted as Adobe's programs write them and other programs expect them, to three colours
/// in place, as Pillow does.
void mix_inks(Picture& picture) {
  const std::size_t count = picture.pixels.size() / 4;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t* const inks = &picture.pixels[4 * i];
    const unsigned light = inks[3];
    for (std::size_t c = 0; c < 3; ++c) {
      const unsigned taken = (255u - inks[c]) * light + 128u;
      picture.pixels[3 * i + c] = static_cast<std::uint8_t>(light - ((taken + (taken >> 8)) >> 8));
    }
  }
  picture.pixels.resize(3 * count);
  picture.channels = 3;
}

}  // namespace

Picture decode_jpeg(std::span<const std::byte> file, std::string_view name, const DecodeConfig& config) {
  require<DataError>(config.channels != Channels::Numbers, name,
                     ": is a JPEG file, whose compression changes the numbers of pixels");
  Decoder decoder;
  decoder.state.err = jpeg_std_error(&decoder.errors);
  decoder.errors.error_exit = on_error;
  decoder.errors.emit_message = on_message;
  const auto refuse = [&] {
    const int code = decoder.errors.msg_code;
    require<DataError>(code != JERR_BAD_LIB_VERSION && code != JERR_BAD_STRUCT_SIZE, name,
                       ": cannot be read by this machine's libjpeg, which is not the one that Kiln was built with: ",
                       shown(decoder.problem));
    fail<DataError>(name, ": is a damaged JPEG file: ", shown(decoder.problem));
  };
  if (!read_header(decoder, file)) refuse();
  auto& state = decoder.state;
  require_allowed(name, state.image_height, state.image_width, file.size(), config);
  const bool grey = config.channels == Channels::Grey;
  const auto kind = state.jpeg_color_space;
  const bool inks = kind == JCS_CMYK || kind == JCS_YCCK, kept_grey = grey && kind == JCS_GRAYSCALE;
  require<DataError>(inks || kind == JCS_GRAYSCALE || kind == JCS_YCbCr || kind == JCS_RGB, name, ": has ",
                     state.num_components, " channels, which are no colours that JPEG files have");
  state.out_color_space = inks ? JCS_CMYK : kept_grey ? JCS_GRAYSCALE : JCS_RGB;
  Picture picture = blank(state.image_height, state.image_width, inks ? 4 : kept_grey ? 1 : 3);
  if (!read_rows(decoder, picture.pixels.data(), static_cast<std::size_t>(picture.width * picture.channels))) refuse();
  if (inks) mix_inks(picture);
  if (grey) return grey_of(picture);
  return picture;
}

}  // namespace kiln::picture
