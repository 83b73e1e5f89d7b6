#include "kiln/store/format/source.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "kiln/core/error/shown.hpp"
#include "kiln/core/setting/setting.hpp"

namespace kiln {

void require_inflation(std::string_view what, std::uint64_t size, std::uint64_t from, std::uint64_t of_any) {
  if (size <= of_any) return;
  constexpr std::uint64_t kUsual = 100;
  std::uint64_t most = kUsual;
  if (const char* const wish = setting("KILN_INFLATION")) {
    const std::string_view said = wish;
    const auto [end, error] = std::from_chars(said.data(), said.data() + said.size(), most);
    require<ArgumentError>(error == std::errc() && end == said.data() + said.size() && most > 0, "KILN_INFLATION: '",
                           shown(said), "' is not a whole number of 1 or more");
  }
  require<DataError>(size / most <= from, what, ": ", from, " bytes stand for ", size, ", more than the ", most,
                     " times that are allowed (KILN_INFLATION=", size / std::max<std::uint64_t>(from, 1) + 1,
                     " in the environment allows it)");
}

StoredTensor stored(TensorData data) {
  const auto bytes = static_cast<std::int64_t>(data.bytes().size());
  return {.shape = data.shape(), .dtype = data.dtype(), .stored_bytes = bytes, .read = [data = std::move(data)] {
            return data;
          }};
}

StoredTensor stored(const FileBytes& file, std::size_t begin, const Shape& shape, DType dtype) {
  const auto size = static_cast<std::size_t>(numel(shape)) * size_of(dtype);
  return {.shape = shape,
          .dtype = dtype,
          .stored_bytes = static_cast<std::int64_t>(size),
          .read = [=, bytes = file.bytes.subspan(begin, size), owner = file.owner] {
            return TensorData::lent(shape, dtype, bytes, owner);
          }};
}

// Sizes of 0 count as 1 in the overflow check, because strides are computed so.
std::int64_t checked_bytes(std::string_view file, std::string_view tensor, const Shape& shape, DType dtype) {
  auto limit = static_cast<std::int64_t>(size_of(dtype));
  bool overflow = false, negative = false;
  for (const auto size : shape) {
    negative |= size < 0;
    overflow |= __builtin_mul_overflow(limit, std::max<std::int64_t>(size, 1), &limit);
  }
  require<DataError>(!negative, file, ": tensor '", shown(tensor), "': shape ", shape, " has a negative size");
  require<DataError>(!overflow, file, ": tensor '", shown(tensor), "': shape ", shape, " is over 2^63 - 1 bytes");
  return numel(shape) * static_cast<std::int64_t>(size_of(dtype));
}

}  // namespace kiln
