#include "kiln/store/safetensors/safetensors.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "kiln/core/error/shown.hpp"
#include "kiln/store/safetensors/header_json.hpp"
#include "kiln/store/utf8.hpp"

namespace kiln {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are copied as they lie in the file");

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kLargestHeader = 100'000'000;  // the reference implementation's limit
constexpr std::string_view kMetadataKey = "__metadata__";

constexpr std::array<std::string_view, kDTypeCount> kDTypeNames = {  // in the order of DType
    "F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8", "BOOL"};

/// An element type of the format that Kiln does not have. Those of float4 and float6 are packed.
struct OtherType {
  std::string_view name;
  std::int64_t bits;
};
constexpr OtherType kOthers[] = {{"F8_E4M3", 8}, {"F8_E5M2", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8},
                                 {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"C64", 64}};

/// One tensor's entry in the header. [begin, end) counts from the end of the header.
struct HeaderEntry {
  std::string name;
  DType dtype = DType::F32;
  Shape shape = {};
  std::int64_t begin = 0, end = 0;
  const OtherType* other = nullptr;  // if not null, the type instead of `dtype`
};

struct Header {
  std::vector<HeaderEntry> entries;
  Metadata metadata;
};

void read_dtype(HeaderJson& json, HeaderEntry& entry) {
  const std::string name = json.string();
  const auto found = std::find(kDTypeNames.begin(), kDTypeNames.end(), name);
  const auto other = std::ranges::find(kOthers, name, &OtherType::name);
  if (found != kDTypeNames.end()) entry.dtype = static_cast<DType>(found - kDTypeNames.begin());
  else if (other != std::end(kOthers)) entry.other = &*other;
  else json.wrong("tensor '", shown(entry.name), "' has the unknown dtype '", shown(name), "'");
}

HeaderEntry read_entry(HeaderJson& json, std::string name) {
  HeaderEntry entry{.name = std::move(name)};
  bool has_dtype = false, has_shape = false, has_offsets = false;
  json.each('{', '}', [&] {
    const std::string key = json.key();
    const auto once = [&](bool& seen) {
      if (seen) json.wrong("tensor '", shown(entry.name), "' says '", key, "' twice");
      seen = true;
    };
    if (key == "dtype") {
      once(has_dtype);
      read_dtype(json, entry);
    } else if (key == "shape") {
      once(has_shape);
      json.each('[', ']', [&] {
        if (entry.shape.size() == kMaxRank)
          json.wrong("tensor '", shown(entry.name), "' has more than ", kMaxRank, " dimensions");
        entry.shape.push_back(json.number());
      });
    } else if (key == "data_offsets") {
      once(has_offsets);
      json.expect('[');
      entry.begin = json.number();
      json.expect(',');
      entry.end = json.number();
      json.expect(']');
    } else {
      json.wrong("tensor '", shown(entry.name), "' has the unknown key '", shown(key), "'");
    }
  });
  if (!has_dtype || !has_shape || !has_offsets)
    json.wrong("tensor '", shown(entry.name), "' lacks '",
               !has_dtype   ? "dtype"
               : !has_shape ? "shape"
                            : "data_offsets",
               "'");
  return entry;
}

Header read_header(std::string_view text, std::string_view file) {
  Header header;
  HeaderJson json(text, file);
  bool has_metadata = false;
  json.each('{', '}', [&] {
    std::string name = json.key();
    if (name != kMetadataKey) return header.entries.push_back(read_entry(json, std::move(name)));
    if (has_metadata) json.wrong("'", kMetadataKey, "' occurs twice");
    has_metadata = true;
    json.each('{', '}', [&] {
      std::string key = json.key();
      const auto [place, fresh] = header.metadata.emplace(std::move(key), json.string());
      if (!fresh) json.wrong("metadata '", shown(place->first), "' occurs twice");
    });
  });
  json.finish();
  return header;
}

void check_extent(const HeaderEntry& entry, std::int64_t data_size, std::string_view file) {
  require<DataError>(entry.begin <= entry.end && entry.end <= data_size, file, ": tensor '", shown(entry.name),
                     "': bytes ", entry.begin, " to ", entry.end, " are not within the file's ", data_size,
                     " bytes of data");
  std::int64_t expected = checked_bytes(file, entry.name, entry.shape, entry.other ? DType::F64 : entry.dtype);
  if (entry.other) {
    const std::int64_t count = numel(entry.shape), bits = entry.other->bits;
    expected = count / 8 * bits + (count % 8 * bits + 7) / 8;
  }
  require<DataError>(entry.end - entry.begin == expected, file, ": tensor '", shown(entry.name),
                     "': ", entry.other ? entry.other->name : name(entry.dtype), " ", entry.shape, " takes ", expected,
                     " bytes, its offsets span ", entry.end - entry.begin);
}

/// `entries` are sorted by offset. Each must begin where the previous one ends, and the last must end at the end of the
/// file.
void check_cover(const std::vector<HeaderEntry>& entries, std::int64_t data_size, std::string_view file) {
  std::int64_t covered = 0;
  std::string_view before;
  for (const HeaderEntry& entry : entries) {
    require<DataError>(entry.begin >= covered, file, ": tensors '", shown(before), "' and '", shown(entry.name),
                       "' overlap");
    require<DataError>(entry.begin == covered, file, ": ", entry.begin - covered, " bytes before tensor '",
                       shown(entry.name), "' belong to no tensor");
    covered = entry.end;
    before = entry.name;
  }
  require<DataError>(covered == data_size, file, ": ", data_size - covered,
                     " bytes after the last tensor belong to none");
}

void check_booleans(const HeaderEntry& entry, std::span<const std::byte> bytes, std::string_view file) {
  const bool sound = std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b <= std::byte{1}; });
  require<DataError>(sound, file, ": tensor '", shown(entry.name), "': a boolean that is neither 0 nor 1");
}

void check_name(std::string_view what, std::string_view name) {
  require<ArgumentError>(is_utf8(name), "write_safetensors: the ", what, " '", shown(name), "' is not UTF-8");
}

void append_entry(std::string& header, const std::string& name, const StoredTensor& tensor, std::int64_t begin,
                  std::int64_t end) {
  append_json_string(header, name);
  header += text(":{\"dtype\":\"", kDTypeNames[static_cast<std::size_t>(tensor.dtype)], "\",\"shape\":[");
  for (int i = 0; i < tensor.shape.size(); ++i) header += text(i ? "," : "", tensor.shape[i]);
  header += text("],\"data_offsets\":[", begin, ",", end, "]}");
}

std::string metadata_json(const Metadata& metadata) {
  std::string out = text("\"", kMetadataKey, "\":{");
  for (bool first = true; const auto& [key, value] : metadata) {
    check_name("metadata key", key);
    check_name("metadata value", value);
    if (!std::exchange(first, false)) out += ',';
    append_json_string(out, key);
    out += ':';
    append_json_string(out, value);
  }
  return out + "}";
}

}  // namespace

TensorFileView view_safetensors(std::span<const std::byte> bytes, std::string_view file) {
  require<DataError>(bytes.size() >= kLengthBytes, file, ": ", bytes.size(),
                     " bytes are too few for a safetensors file, which begins with a length of 8 bytes");
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  require<DataError>(length <= kLargestHeader, file,
                     ": it is no safetensors file: its first 8 bytes would be the length of a header of ", length,
                     " bytes, and the format's limit is ", kLargestHeader);
  const auto rest = bytes.subspan(kLengthBytes);
  require<DataError>(length <= rest.size(), file, ": its header should have ", length, " bytes, the file has only ",
                     rest.size(), " more");
  const auto header_size = static_cast<std::size_t>(length);
  const auto data = rest.subspan(header_size);
  const auto data_size = static_cast<std::int64_t>(data.size());

  Header header = read_header({reinterpret_cast<const char*>(rest.data()), header_size}, file);
  for (const HeaderEntry& entry : header.entries) check_extent(entry, data_size, file);
  std::sort(header.entries.begin(), header.entries.end(), [](const HeaderEntry& a, const HeaderEntry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  check_cover(header.entries, data_size, file);

  TensorFileView view{.tensors = {}, .metadata = std::move(header.metadata)};
  for (HeaderEntry& entry : header.entries) {
    if (entry.other) {
      const bool fresh = view.left_out
                             .emplace(entry.name, text("is of type ", entry.other->name, " and shape ", entry.shape,
                                                       ": Kiln has no such type"))
                             .second;
      require<DataError>(fresh, file, ": tensor '", shown(entry.name), "' occurs twice");
      continue;
    }
    const auto part =
        data.subspan(static_cast<std::size_t>(entry.begin), static_cast<std::size_t>(entry.end - entry.begin));
    if (entry.dtype == DType::Bool) check_booleans(entry, part, file);
    const bool fresh = view.tensors.emplace(entry.name, TensorView{entry.shape, entry.dtype, part}).second &&
                       !view.left_out.contains(entry.name);
    require<DataError>(fresh, file, ": tensor '", shown(entry.name), "' occurs twice");
  }
  return view;
}

TensorFile read_safetensors(std::span<const std::byte> bytes, std::string_view file) {
  TensorFileView view = view_safetensors(bytes, file);
  TensorFile result{.tensors = {}, .metadata = std::move(view.metadata)};
  for (const auto& [name, tensor] : view.tensors)
    result.tensors.emplace(name, TensorData(tensor.shape, tensor.dtype, {tensor.bytes.begin(), tensor.bytes.end()}));
  return result;
}

void write_safetensors(const TensorSource& source, ByteSink sink) {
  using Item = std::pair<const std::string, StoredTensor>;
  std::vector<const Item*> items;
  for (const Item& item : source.tensors) {
    check_name("tensor name", item.first);
    require<ArgumentError>(item.first != kMetadataKey, "write_safetensors: no tensor can be named '", kMetadataKey,
                           "'");
    items.push_back(&item);
  }
  const auto place = [](const Item* item) {
    return std::pair(-static_cast<int>(size_of(item->second.dtype)), std::string_view(item->first));
  };
  std::sort(items.begin(), items.end(), [&](const Item* a, const Item* b) { return place(a) < place(b); });

  std::string header = "{";
  std::int64_t end = 0;
  if (!source.metadata.empty()) header += metadata_json(source.metadata);
  for (const Item* item : items) {
    const auto& [name, tensor] = *item;
    if (header.size() > 1) header += ',';
    const std::int64_t begin = end;
    end += numel(tensor.shape) * static_cast<std::int64_t>(size_of(tensor.dtype));
    append_entry(header, name, tensor, begin, end);
  }
  header += '}';
  header.resize((header.size() + 7) / 8 * 8, ' ');  // aligns the data

  const std::uint64_t length = header.size();
  sink(std::as_bytes(std::span(&length, 1)));
  sink(std::as_bytes(std::span(header)));
  for (const Item* item : items) {
    const TensorData data = item->second.read();
    sink(data.bytes());
  }
}

TensorSource source_of(const TensorFile& file) {
  TensorSource source{.tensors = {}, .metadata = file.metadata};
  const std::shared_ptr<const void> caller(&file, [](const void*) {});
  for (const auto& [name, data] : file.tensors)
    source.tensors.emplace(name, stored(FileBytes{data.bytes(), {}, caller}, 0, data.shape(), data.dtype()));
  return source;
}

void write_safetensors(const TensorFile& file, ByteSink sink) { write_safetensors(source_of(file), sink); }

std::vector<std::byte> write_safetensors(const TensorFile& file) {
  std::vector<std::byte> bytes;
  write_safetensors(file,
                    [&](std::span<const std::byte> piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); });
  return bytes;
}

// Checks for a plausible length of a header and the header's first character.
bool is_safetensors(std::span<const std::byte> bytes) {
  std::uint64_t length = 0;
  if (bytes.size() < kLengthBytes + 1) return false;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  return length <= kLargestHeader && bytes[kLengthBytes] == std::byte{'{'};
}

TensorSource open_safetensors(const FileBytes& file) {
  TensorFileView view = view_safetensors(file.bytes, file.name);
  TensorSource source{.tensors = {}, .metadata = std::move(view.metadata)};
  source.left_out = std::move(view.left_out);
  for (const auto& [name, tensor] : view.tensors) {
    const auto begin = static_cast<std::size_t>(tensor.bytes.data() - file.bytes.data());
    source.tensors.emplace(name, stored(file, tensor.bytes.empty() ? 0 : begin, tensor.shape, tensor.dtype));
  }
  return source;
}

}  // namespace kiln
