#include "kiln/store/gguf/gguf.hpp"

#include <algorithm>

#include "kiln/core/error/shown.hpp"
#include "kiln/store/format/byte_reader.hpp"
#include "kiln/store/gguf/blocks.hpp"

namespace kiln {
namespace {

constexpr std::string_view kMagic = "GGUF", kAlignmentKey = "general.alignment";
constexpr std::uint64_t kDefaultAlignment = 32, kMostAlignment = 1 << 20;
constexpr int kDeepest = 4;

enum class Type : std::uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64 };

/// A tensor as the header describes it. `begin` counts from the beginning of the data.
struct GgufTensor {
  std::string name;
  Shape shape = {};
  const gguf::Encoding* encoding = nullptr;
  std::uint64_t begin = 0, bytes = 0;
};

/// Appends the next value as text.
void append_value(std::string& out, ByteReader& in, Type type, int depth) {
  switch (type) {
    case Type::U8: return append(out, in.number<std::uint8_t>());
    case Type::I8: return append(out, in.number<std::int8_t>());
    case Type::U16: return append(out, in.number<std::uint16_t>());
    case Type::I16: return append(out, in.number<std::int16_t>());
    case Type::U32: return append(out, in.number<std::uint32_t>());
    case Type::I32: return append(out, in.number<std::int32_t>());
    case Type::F32: return append(out, in.number<float>());
    case Type::Bool: return append(out, in.number<std::uint8_t>() != 0);
    case Type::String: return append(out, in.text(in.number<std::uint64_t>()));
    case Type::U64: return append(out, in.number<std::uint64_t>());
    case Type::I64: return append(out, in.number<std::int64_t>());
    case Type::F64: return append(out, in.number<double>());
    case Type::Array: {
      if (depth == kDeepest) in.wrong("arrays nested more than ", kDeepest, " deep");
      const auto inner = static_cast<Type>(in.number<std::uint32_t>());
      const auto count = in.number<std::uint64_t>();
      if (count > in.left()) in.wrong("an array of ", count, " values in the last ", in.left(), " bytes");
      out += '[';
      for (std::uint64_t i = 0; i < count; ++i) {
        if (i) out += ", ";
        append_value(out, in, inner, depth + 1);
      }
      out += ']';
      return;
    }
  }
  in.wrong("a value of the unknown type ", static_cast<std::uint32_t>(type));
}

GgufTensor read_entry(ByteReader& in, const FileBytes& file) {
  GgufTensor entry{.name = std::string(in.text(in.number<std::uint64_t>()))};
  const auto rank = in.number<std::uint32_t>();
  if (rank > kMaxRank) in.wrong("tensor '", shown(entry.name), "' has more than ", kMaxRank, " dimensions");
  for (std::uint32_t i = 0; i < rank; ++i) entry.shape.insert(0, in.number<std::int64_t>());
  const auto id = in.number<std::uint32_t>();
  entry.encoding = gguf::find_encoding(id);
  if (!entry.encoding) in.wrong("tensor '", shown(entry.name), "' has the type ", id, ", which Kiln does not read");
  entry.begin = in.number<std::uint64_t>();
  const std::int64_t block = entry.encoding->block;
  const std::int64_t count =
      checked_bytes(file.name, entry.name, entry.shape, DType::F64) / static_cast<std::int64_t>(sizeof(double));
  if (block > 1 && (entry.shape.empty() || entry.shape.back() % block))
    in.wrong("tensor '", shown(entry.name), "': rows of shape ", entry.shape, " are not whole blocks of ", block);
  entry.bytes = static_cast<std::uint64_t>(count / block * entry.encoding->bytes);
  return entry;
}

/// Checks that each tensor is within the data and that no two overlap.
void check_offsets(std::vector<const GgufTensor*> entries, std::uint64_t size, std::string_view file) {
  std::sort(entries.begin(), entries.end(),
            [](const GgufTensor* a, const GgufTensor* b) { return a->begin < b->begin; });
  std::uint64_t covered = 0;
  for (const GgufTensor* entry : entries) {
    require<DataError>(entry->begin <= size && entry->bytes <= size - entry->begin, file, ": tensor '",
                       shown(entry->name), "': ", entry->bytes, " bytes from ", entry->begin,
                       " on are not within the file's ", size, " bytes of data");
    require<DataError>(entry->bytes == 0 || entry->begin >= covered, file, ": tensor '", shown(entry->name),
                       "' overlaps another");
    covered = std::max(covered, entry->begin + entry->bytes);
  }
}

TensorData decode(const GgufTensor& entry, std::span<const std::byte> bytes) {
  TensorData data(entry.shape, DType::F32);
  float* to = data.as<float>().data();
  for (; !bytes.empty(); bytes = bytes.subspan(static_cast<std::size_t>(entry.encoding->bytes))) {
    entry.encoding->decode(bytes.data(), to);
    to += entry.encoding->block;
  }
  return data;
}

StoredTensor stored_as(const GgufTensor& entry, const FileBytes& file, std::size_t data_begin) {
  const std::size_t begin = data_begin + static_cast<std::size_t>(entry.begin);
  if (!entry.encoding->decode) return stored(file, begin, entry.shape, entry.encoding->dtype);
  const auto bytes = file.bytes.subspan(begin, static_cast<std::size_t>(entry.bytes));
  return {.shape = entry.shape,
          .dtype = DType::F32,
          .encoding = std::string(entry.encoding->name),
          .stored_bytes = static_cast<std::int64_t>(entry.bytes),
          .read = [entry, bytes, owner = file.owner] { return decode(entry, bytes); }};
}

}  // namespace

bool is_gguf(std::span<const std::byte> bytes) {
  return bytes.size() >= kMagic.size() &&
         std::string_view(reinterpret_cast<const char*>(bytes.data()), kMagic.size()) == kMagic;
}

TensorSource open_gguf(const FileBytes& file) {
  ByteReader in(file, "header");
  in.take(kMagic.size());
  const auto version = in.number<std::uint32_t>();
  if (version != 2 && version != 3) in.wrong("version ", version, "; Kiln reads 2 and 3, little-endian");
  const auto tensors = in.number<std::uint64_t>(), values = in.number<std::uint64_t>();
  TensorSource source;
  for (std::uint64_t i = 0; i < values; ++i) {
    std::string key(in.text(in.number<std::uint64_t>())), value;
    append_value(value, in, static_cast<Type>(in.number<std::uint32_t>()), 0);
    if (!source.metadata.emplace(key, std::move(value)).second) in.wrong("'", shown(key), "' occurs twice");
  }
  std::uint64_t alignment = kDefaultAlignment;
  if (const auto said = source.metadata.find(std::string(kAlignmentKey)); said != source.metadata.end())
    alignment = std::strtoull(said->second.c_str(), nullptr, 10);
  if (alignment == 0 || alignment > kMostAlignment || alignment % 8)
    in.wrong("'", kAlignmentKey, "' is ", alignment, ", no multiple of 8");

  std::vector<GgufTensor> entries;
  for (std::uint64_t i = 0; i < tensors; ++i) entries.push_back(read_entry(in, file));
  std::size_t begin = in.at();
  if (!entries.empty()) in.take((alignment - begin % alignment) % alignment);
  begin = in.at();
  std::vector<const GgufTensor*> places;
  for (const GgufTensor& entry : entries) places.push_back(&entry);
  check_offsets(std::move(places), in.left(), file.name);
  for (const GgufTensor& entry : entries) {
    const bool fresh = source.tensors.emplace(entry.name, stored_as(entry, file, begin)).second;
    require<DataError>(fresh, file.name, ": tensor '", shown(entry.name), "' occurs twice");
  }
  return source;
}

}  // namespace kiln
