#include "kiln/picture/decode.hpp"

#include <algorithm>
#include <array>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/memory_error.hpp"
#include "kiln/core/file.hpp"

namespace kiln {
namespace {

template <std::size_t kCount>
bool begins(std::span<const std::byte> file, const std::array<unsigned char, kCount>& magic) {
  return file.size() >= kCount && std::equal(magic.begin(), magic.end(), file.begin(),
                                             [](unsigned char a, std::byte b) { return std::byte{a} == b; });
}

}  // namespace

Picture decode_picture(std::span<const std::byte> file, std::string_view name, const DecodeConfig& config) try {
  constexpr std::array<unsigned char, 8> kPng = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  constexpr std::array<unsigned char, 3> kJpeg = {0xff, 0xd8, 0xff};
  if (begins(file, kPng)) return picture::decode_png(file, name, config);
  if (begins(file, kJpeg)) return picture::decode_jpeg(file, name, config);
  fail<DataError>(name, ": is neither a PNG nor a JPEG file");
} catch (...) { rethrow_as_memory_error(name); }

Picture read_picture(const std::string& path, const DecodeConfig& config) try {
  return decode_picture(read_file(path), path, config);
} catch (...) { rethrow_as_memory_error(path); }

void picture::require_allowed(std::string_view name, std::int64_t height, std::int64_t width, std::size_t file_bytes,
                              const DecodeConfig& config) {
  constexpr std::int64_t kOfAnyFile = 1 << 26;
  require<DataError>(height > 0 && width > 0, name, ": holds no pixels");
  require<DataError>(height <= config.most_pixels / width, name, ": claims ", height, " x ", width,
                     " pixels, more than the ", config.most_pixels, " that are allowed (DecodeConfig::most_pixels)");
  const std::int64_t pixels = height * width, bytes = static_cast<std::int64_t>(file_bytes);
  require<DataError>(pixels <= kOfAnyFile || pixels / std::max<std::int64_t>(config.pixels_per_byte, 1) <= bytes, name,
                     ": claims ", height, " x ", width, " pixels in ", bytes, " bytes, which is more than the ",
                     config.pixels_per_byte, " pixels a byte that are allowed (DecodeConfig::pixels_per_byte)");
}

}  // namespace kiln
