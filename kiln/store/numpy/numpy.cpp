#include "kiln/store/numpy/numpy.hpp"

#include <algorithm>

#include "kiln/core/error/error.hpp"
#include "kiln/store/format/strided.hpp"
#include "kiln/store/numpy/npy_header.hpp"
#include "kiln/store/zip/zip_reader.hpp"
#include "kiln/store/zip/zip_writer.hpp"

namespace kiln {
namespace {

constexpr std::string_view kSuffix = ".npy";

Dims column_major(const Shape& shape) {
  Dims strides = Dims::filled(shape.size(), 1);
  for (int i = 1; i < shape.size(); ++i) strides[i] = strides[i - 1] * shape[i - 1];
  return strides;
}

TensorData read_array(const FileBytes& file) {
  const NpyHeader header = read_npy_header(file, file.bytes.size());
  const auto bytes = file.bytes.subspan(header.data_begin);
  TensorData data = header.fortran_order ? gather(bytes, header.shape, header.dtype, column_major(header.shape), 0)
                                         : TensorData::lent(header.shape, header.dtype, bytes, file.owner);
  if (header.big_endian && size_of(header.dtype) > 1) {
    const auto elements = data.bytes();
    for (std::size_t i = 0; i < elements.size(); i += size_of(header.dtype))
      std::reverse(elements.begin() + static_cast<std::ptrdiff_t>(i),
                   elements.begin() + static_cast<std::ptrdiff_t>(i + size_of(header.dtype)));
  }
  return data;
}

StoredTensor array_of(const NpyHeader& header, std::uint64_t size, std::function<TensorData()> read) {
  return {.shape = header.shape,
          .dtype = header.dtype,
          .encoding = header.fortran_order ? "column-major"
                      : header.big_endian  ? "big-endian"
                                           : "",
          .stored_bytes = static_cast<std::int64_t>(size - header.data_begin),
          .read = std::move(read)};
}

/// The header and data of an array, of a type that NumPy knows.
struct Written {
  std::string header;
  TensorData data;
};
Written written(const StoredTensor& tensor) {
  TensorData data = tensor.read();
  if (data.dtype() == DType::BF16) data = data.to(DType::F32);
  std::string header = npy_header(data.shape(), data.dtype());
  return {std::move(header), std::move(data)};
}

}  // namespace

bool is_npy(std::span<const std::byte> bytes) {
  return bytes.size() >= 6 && bytes[0] == std::byte{0x93} &&
         std::string_view(reinterpret_cast<const char*>(bytes.data()) + 1, 5) == "NUMPY";
}

TensorSource open_npy(const FileBytes& file) {
  const NpyHeader header = read_npy_header(file, file.bytes.size());
  require<DataError>(header.unread.empty(), file.name, ": ", header.unread);
  TensorSource source;
  source.tensors.emplace("array", array_of(header, file.bytes.size(), [file] { return read_array(file); }));
  return source;
}

void write_npy(const TensorSource& source, ByteSink sink) {
  require<ArgumentError>(source.tensors.size() == 1, "a .npy file holds one array, not ", source.tensors.size(),
                         ": write .npz");
  const auto [header, data] = written(source.tensors.begin()->second);
  sink(std::as_bytes(std::span(header)));
  sink(data.bytes());
}

bool is_npz(const FileBytes& file) {
  const auto entries = read_zip(file);
  return std::all_of(entries.begin(), entries.end(), [](const auto& entry) { return entry.first.ends_with(kSuffix); });
}

TensorSource open_npz(const FileBytes& file) {
  TensorSource source;
  for (const auto& [name, entry] : read_zip(file)) {
    if (!name.ends_with(kSuffix)) {
      source.left_out.emplace(name, "is no array: its name does not end with .npy");
      continue;
    }
    const std::string array = name.substr(0, name.size() - kSuffix.size());
    const NpyHeader header = read_npy_header(zip_beginning(file, name, entry, kLongestNpyHeader), entry.size);
    if (!header.unread.empty()) {
      source.left_out.emplace(array, header.unread);
      continue;
    }
    StoredTensor tensor =
        array_of(header, entry.size, [file, name, entry] { return read_array(zip_contents(file, name, entry)); });
    if (entry.deflated) tensor.encoding = "deflate", tensor.stored_bytes = static_cast<std::int64_t>(entry.stored);
    source.tensors.emplace(array, std::move(tensor));
  }
  return source;
}

void write_npz(const TensorSource& source, ByteSink sink) {
  ZipWriter zip(sink);
  for (const auto& [name, tensor] : source.tensors) {
    const auto [header, data] = written(tensor);
    zip.add(name + std::string(kSuffix), std::as_bytes(std::span(header)), data.bytes());
  }
  zip.finish();
}

}  // namespace kiln
