#include "kiln/store/format/strided.hpp"

#include <cstring>

namespace kiln {
namespace {

template <std::size_t kSize>
struct Element {
  std::byte bytes[kSize];
};

template <class T>
void copy_elements(const std::byte* from, std::byte* to, const Shape& shape, const Dims& strides, int dim) {
  std::int64_t step = static_cast<std::int64_t>(sizeof(T)), inner = 1;
  for (int i = dim + 1; i < shape.size(); ++i) inner *= shape[i];
  const std::int64_t stride = shape.empty() ? 0 : strides[dim];
  const std::int64_t count = shape.empty() ? 1 : shape[dim];
  for (std::int64_t i = 0; i < count; ++i, from += stride * step, to += inner * step) {
    if (dim + 1 >= shape.size()) std::memcpy(to, from, sizeof(T));
    else copy_elements<T>(from, to, shape, strides, dim + 1);
  }
}

}  // namespace

TensorData gather(std::span<const std::byte> bytes, const Shape& shape, DType dtype, const Dims& strides,
                  std::int64_t offset) {
  TensorData data(shape, dtype);
  if (data.numel() == 0) return data;
  const auto size = static_cast<std::int64_t>(size_of(dtype));
  const std::byte* const from = bytes.data() + offset * size;
  std::byte* const to = data.bytes().data();
  switch (size) {
    case 1: copy_elements<Element<1>>(from, to, shape, strides, 0); break;
    case 2: copy_elements<Element<2>>(from, to, shape, strides, 0); break;
    case 4: copy_elements<Element<4>>(from, to, shape, strides, 0); break;
    default: copy_elements<Element<8>>(from, to, shape, strides, 0);
  }
  if (dtype == DType::Bool)
    for (std::byte& byte : data.bytes()) byte = std::byte{byte != std::byte{0}};
  return data;
}

}  // namespace kiln
