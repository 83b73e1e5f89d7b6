// The contents of tensors in a file and beside it.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "kiln/core/error/shown.hpp"
#include "kiln/onnx/file.hpp"

namespace kiln::onnx {

namespace {

std::string what(const std::string& file, const TensorProto& tensor) {
  return tensor.name.empty() ? text(shown(file), ": a tensor")
                             : text(shown(file), ": tensor '", shown(tensor.name), "'");
}

std::int64_t number_of(const std::string& digits, const std::string& where) {
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  require<DataError>(error == std::errc() && end == digits.data() + digits.size() && number >= 0, where,
                     " has external data with an offset or a length '", shown(digits), "', which is not a size");
  return number;
}

// Numbers that stand in a field of their own, as bytes of the element type.
template <class T, class From>
std::vector<std::byte> bytes_of(const std::vector<From>& numbers) {
  std::vector<std::byte> bytes(numbers.size() * sizeof(T));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const T number = static_cast<T>(numbers[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &number, sizeof(T));
  }
  return bytes;
}

}  // namespace

Shape TensorReader::shape(const TensorProto& tensor) const {
  require<DataError>(tensor.dims.size() <= kMaxRank, what(file_, tensor), " has ", tensor.dims.size(),
                     " dimensions, and Kiln's tensors at most ", kMaxRank);
  for (const std::int64_t size : tensor.dims)
    require<DataError>(size >= 0, what(file_, tensor), " has a dimension of size ", size);
  const Shape shape(tensor.dims.begin(), tensor.dims.end());
  std::int64_t count = 1;
  for (const std::int64_t size : shape)
    require<DataError>(!__builtin_mul_overflow(count, size, &count), what(file_, tensor), " has the shape ", shape,
                       ", which has more than 2^63 - 1 elements");
  return shape;
}

FileBytes TensorReader::external(const TensorProto& tensor) {
  namespace fs = std::filesystem;
  const std::string where = what(file_, tensor);
  std::string location, offset = "0", length;
  for (const auto& [key, value] : tensor.external_data) {
    if (key == "location") location = value;
    else if (key == "offset") offset = value;
    else if (key == "length") length = value;
  }
  require<DataError>(!location.empty(), where, " has external data without a location");
  std::error_code error;
  const fs::path directory = fs::weakly_canonical(directory_.empty() ? fs::path(".") : fs::path(directory_), error);
  const fs::path path = fs::weakly_canonical(directory / fs::path(location), error);
  const fs::path relative = path.lexically_relative(directory);
  require<DataError>(!error && fs::path(location).is_relative() && !relative.empty() && *relative.begin() != "..",
                     where, " has external data in '", shown(location), "', which is outside of the model's directory");
  const std::string name = path.string();
  auto all = std::ranges::find(mapped_, name, &FileBytes::name);
  if (all == mapped_.end()) {
    require<IoError>(!fs::exists(path, error) || fs::is_regular_file(path, error), "cannot read ", shown(name),
                     ": it is not a file");
    mapped_.push_back(map_file(name));
    all = mapped_.end() - 1;
  }
  const auto size = static_cast<std::int64_t>(all->bytes.size()), from = number_of(offset, where);
  require<DataError>(from <= size, where, " begins at byte ", from, " of '", shown(location), "', which has ", size);
  const std::int64_t count = length.empty() ? size - from : number_of(length, where);
  require<DataError>(count <= size - from, where, " takes ", count, " bytes from byte ", from, " of '", shown(location),
                     "', which has ", size);
  return {all->bytes.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(count)), name, all->owner,
          all->mapped};
}

TensorData TensorReader::read(const TensorProto& tensor) {
  const std::string where = what(file_, tensor);
  const Shape size = shape(tensor);
  require<DataError>(is_known(tensor.element) && tensor.element != Element::String, where, " has the type ",
                     name(tensor.element), ", which Kiln does not support as numbers");
  if (tensor.external || tensor.raw_data) {
    const FileBytes source = tensor.external ? external(tensor) : source_;
    const Bytes part = tensor.external ? source.bytes : *tensor.raw_data;
    TensorData data = unpack(tensor.element, size, part, where, source.owner);
    if (!data.owner()) forget_pages(source, part);
    return data;
  }
  std::vector<std::byte> bytes;
  switch (tensor.element) {
    case Element::Float: bytes = bytes_of<float>(tensor.float_data); break;
    case Element::Double: bytes = bytes_of<double>(tensor.double_data); break;
    case Element::Int64: bytes = bytes_of<std::int64_t>(tensor.int64_data); break;
    case Element::Uint64: bytes = bytes_of<std::uint64_t>(tensor.uint64_data); break;
    case Element::Uint32: bytes = bytes_of<std::uint32_t>(tensor.uint64_data); break;
    case Element::Int32: bytes = bytes_of<std::int32_t>(tensor.int32_data); break;
    case Element::Uint16:
    case Element::Int16:
    case Element::Float16:
    case Element::Bfloat16: bytes = bytes_of<std::uint16_t>(tensor.int32_data); break;
    case Element::Bool:
      for (const std::int32_t flag : tensor.int32_data) bytes.push_back(std::byte{flag != 0});
      break;
    default: bytes = bytes_of<std::uint8_t>(tensor.int32_data);  // a byte each, 4- and 2-bit types packed in it
  }
  return unpack(tensor.element, size, bytes, where);
}

std::vector<std::string> TensorReader::strings(const TensorProto& tensor) const {
  const std::int64_t count = numel(shape(tensor));
  require<DataError>(count == static_cast<std::int64_t>(tensor.string_data.size()), what(file_, tensor),
                     " has the shape ", shape(tensor), ", but ", tensor.string_data.size(), " strings");
  return tensor.string_data;
}

}  // namespace kiln::onnx
