#include "kiln/core/error/error.hpp"
#include "kiln/picture/decode.hpp"

namespace kiln::picture {

Picture decode_jpeg(std::span<const std::byte>, std::string_view name, const DecodeConfig&) {
  fail<DataError>(name, ": is a JPEG file, and this Kiln was built without libjpeg");
}

}  // namespace kiln::picture
