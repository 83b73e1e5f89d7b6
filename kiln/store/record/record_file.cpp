#include "kiln/store/record/record_file.hpp"

#include <algorithm>

#include "kiln/core/config/config.hpp"
#include "kiln/store/format/byte_reader.hpp"
#include "kiln/store/utf8.hpp"
#include "kiln/store/zip/deflate.hpp"

namespace kiln {
namespace {

constexpr std::string_view kMagic = "KILNREC\n";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kAlignment = 64, kFooter = 8 + 4 + 4 + 8;

struct Directory {
  struct Tensor {
    std::string name;
    DType dtype;
    Shape shape;
    std::uint64_t begin, bytes;  // in the file
    std::uint32_t crc;           // checksum of those bytes
    bool deflated = false;
  };
  std::vector<Tensor> tensors;
  Metadata metadata;
};

Directory read_directory(const FileBytes& file) {
  const std::size_t size = file.bytes.size();
  if (size < kAlignment + kFooter || !is_record(file.bytes.subspan(size - kMagic.size())))
    fail<DataError>(file.name, ": cut off: a record ends with a directory");
  ByteReader footer(file, "directory", size - kFooter);
  const auto length = footer.number<std::uint64_t>();
  const auto crc = footer.number<std::uint32_t>(), version = footer.number<std::uint32_t>();
  require<DataError>(version >= 1 && version <= kVersion, file.name, ": a record of version ", version,
                     ", this Kiln reads up to ", kVersion, version > kVersion ? ": a newer one wrote it" : "");
  require<DataError>(length <= size - kFooter - kAlignment, file.name, ": a directory of ", length,
                     " bytes does not fit into the file");
  ByteReader in(file, "directory", size - kFooter - static_cast<std::size_t>(length));
  const std::string_view json = in.text(length);
  require<DataError>(crc32_of(std::as_bytes(std::span(json))) == crc, file.name,
                     ": damaged: the checksum of its directory differs");
  try {
    return from_json<Directory>(json, file.name);
  } catch (const ConfigError& error) { fail<DataError>(error.message()); }
}

StoredTensor stored_in(const FileBytes& file, const Directory::Tensor& entry) {
  const auto bytes = file.bytes.subspan(static_cast<std::size_t>(entry.begin), static_cast<std::size_t>(entry.bytes));
  return {.shape = entry.shape,
          .dtype = entry.dtype,
          .encoding = entry.deflated ? "deflate" : "",
          .stored_bytes = static_cast<std::int64_t>(entry.bytes),
          .read = [entry, bytes, owner = file.owner, what = text(file.name, ": tensor '", shown(entry.name), "'")] {
            require<DataError>(crc32_of(bytes) == entry.crc, what, ": damaged: its checksum differs");
            if (!entry.deflated) return TensorData::lent(entry.shape, entry.dtype, bytes, owner);
            const auto size = static_cast<std::uint64_t>(numel(entry.shape)) * size_of(entry.dtype);
            return TensorData(entry.shape, entry.dtype, inflate(bytes, size, what));
          }};
}

void check_entry(const FileBytes& file, const Directory::Tensor& entry) {
  const auto expected = static_cast<std::uint64_t>(checked_bytes(file.name, entry.name, entry.shape, entry.dtype));
  const std::uint64_t size = file.bytes.size();
  require<DataError>(entry.begin <= size && entry.bytes <= size - entry.begin, file.name, ": tensor '",
                     shown(entry.name), "': ", entry.bytes, " bytes from ", entry.begin, " on are not in the file");
  const bool possible = entry.deflated ? expected / kMostInflation <= entry.bytes : expected == entry.bytes;
  require<DataError>(possible, file.name, ": tensor '", shown(entry.name), "': ", name(entry.dtype), " ", entry.shape,
                     " does not come from ", entry.bytes, " bytes");
}

// Tensors that share bytes would let a small file expand into a large one.
void check_overlap(const FileBytes& file, const std::vector<Directory::Tensor>& tensors) {
  std::vector<const Directory::Tensor*> places;
  for (const Directory::Tensor& tensor : tensors)
    if (tensor.bytes > 0) places.push_back(&tensor);
  std::ranges::sort(places, {}, &Directory::Tensor::begin);
  for (std::size_t i = 1; i < places.size(); ++i)
    require<DataError>(places[i - 1]->begin + places[i - 1]->bytes <= places[i]->begin, file.name, ": tensors '",
                       shown(places[i - 1]->name), "' and '", shown(places[i]->name), "' overlap");
}

}  // namespace

bool is_record(std::span<const std::byte> bytes) {
  return bytes.size() >= kMagic.size() &&
         std::string_view(reinterpret_cast<const char*>(bytes.data()), kMagic.size()) == kMagic;
}

TensorSource open_record(const FileBytes& file) {
  Directory directory = read_directory(file);
  TensorSource source{.tensors = {}, .metadata = std::move(directory.metadata)};
  for (const Directory::Tensor& entry : directory.tensors) {
    check_entry(file, entry);
    const bool fresh = source.tensors.emplace(entry.name, stored_in(file, entry)).second;
    require<DataError>(fresh, file.name, ": tensor '", shown(entry.name), "' occurs twice");
  }
  check_overlap(file, directory.tensors);
  return source;
}

void write_record(const TensorSource& source, ByteSink sink, const RecordFileOptions& options) {
  std::uint64_t at = 0;
  const auto put = [&](std::span<const std::byte> bytes) {
    sink(bytes);
    at += bytes.size();
  };
  const auto pad = [&] {
    const std::string zeros((kAlignment - at % kAlignment) % kAlignment, '\0');
    put(std::as_bytes(std::span(zeros)));
  };
  Directory directory{.tensors = {}, .metadata = source.metadata};
  put(std::as_bytes(std::span(kMagic)));
  for (const auto& [name, tensor] : source.tensors) {
    require<ArgumentError>(is_utf8(name), "write_record: the tensor name '", shown(name), "' is not UTF-8");
    pad();
    const TensorData data = tensor.read();
    std::vector<std::byte> small;
    if (options.compress) small = deflate(data.bytes());
    const bool deflated = options.compress && small.size() < data.bytes().size();
    const auto bytes = deflated ? std::span<const std::byte>(small) : data.bytes();
    directory.tensors.push_back({name, data.dtype(), data.shape(), at, bytes.size(), crc32_of(bytes), deflated});
    put(bytes);
  }
  pad();
  std::string end;
  try {
    end = write_json(to_json(directory));
  } catch (const ConfigError& error) { fail<ArgumentError>("write_record: ", error.message()); }
  const std::uint64_t length = end.size();
  const std::uint32_t crc = crc32_of(std::as_bytes(std::span(end)));
  append_number(end, length);
  append_number(end, crc);
  append_number(end, kVersion);
  put(std::as_bytes(std::span(end.append(kMagic))));
}

void write_record(const TensorSource& source, ByteSink sink) { write_record(source, sink, {}); }

}  // namespace kiln
