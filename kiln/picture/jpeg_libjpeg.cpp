#include <csetjmp>
#include <cstdio>  // before jpeglib.h, which needs it

#include <jpeglib.h>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/picture/decode.hpp"

namespace kiln::picture {
namespace {

/// libjpeg leaves by longjmp, as it is no C++: over its own frames alone, since decode() below has nothing to destroy.
struct Decoder {
  jpeg_decompress_struct state{};
  jpeg_error_mgr errors{};
  std::jmp_buf leave{};
  char problem[JMSG_LENGTH_MAX] = {};

  Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() { jpeg_destroy_decompress(&state); }
};

/// Damage that libjpeg would paint over is damage here: a file that is cut off, numbers that do not decode.
void on_message(j_common_ptr state, int level) {
  if (level >= 0) return;
  auto& decoder = *static_cast<Decoder*>(state->client_data);
  state->err->format_message(state, decoder.problem);
  std::longjmp(decoder.leave, 1);
}
void on_error(j_common_ptr state) { on_message(state, -1); }

/// Until the size is known, or on to the end. False where the decoder has a problem.
bool read_header(Decoder& decoder, std::span<const std::byte> file) {
  if (setjmp(decoder.leave)) return false;
  jpeg_create_decompress(&decoder.state);
  decoder.state.client_data = &decoder;
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

}  // namespace

Picture decode_jpeg(std::span<const std::byte> file, std::string_view name, const DecodeConfig& config) {
  Decoder decoder;
  decoder.state.err = jpeg_std_error(&decoder.errors);
  decoder.errors.error_exit = on_error;
  decoder.errors.emit_message = on_message;
  const auto refuse = [&] { fail<DataError>(name, ": is a damaged JPEG file: ", shown(decoder.problem)); };
  if (!read_header(decoder, file)) refuse();
  auto& state = decoder.state;
  require_allowed(name, state.image_height, state.image_width, config);
  const bool grey = config.channels == Channels::Grey;
  require<DataError>(state.jpeg_color_space == JCS_GRAYSCALE || state.jpeg_color_space == JCS_YCbCr ||
                         state.jpeg_color_space == JCS_RGB,
                     name, ": has the colours of a printing press, which are not read");
  // libjpeg makes no grey of files that hold red, green and blue themselves: that is done below.
  const bool mix = grey && state.jpeg_color_space == JCS_RGB;
  state.out_color_space = grey && !mix ? JCS_GRAYSCALE : JCS_RGB;
  Picture picture = blank(state.image_height, state.image_width, grey && !mix ? 1 : 3);
  if (!read_rows(decoder, picture.pixels.data(), static_cast<std::size_t>(picture.width * picture.channels))) refuse();
  return mix ? grey_of(picture) : picture;
}

}  // namespace kiln::picture
