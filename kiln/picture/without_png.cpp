#include "kiln/core/error/error.hpp"
#include "kiln/picture/decode.hpp"

namespace kiln::picture {

Picture decode_png(std::span<const std::byte>, std::string_view name, const DecodeConfig&) {
  fail<DataError>(name, ": is a PNG file, and this Kiln was built without libpng");
}

}  // namespace kiln::picture
