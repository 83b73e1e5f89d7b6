#include "kiln/store/zip/zip_reader.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "kiln/core/error/shown.hpp"
#include "kiln/store/format/byte_reader.hpp"
#include "kiln/store/zip/deflate.hpp"

namespace kiln {
namespace {

constexpr std::uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50;
constexpr std::uint32_t kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr std::size_t kEndSize = 22, kLocatorSize = 20, kCentralSize = 46, kLongestComment = 65535;
constexpr std::uint16_t kZip64Extra = 1, kEncrypted = 1;
constexpr std::uint32_t kSeeExtra = 0xffffffff;
constexpr std::uint16_t kStored = 0, kDeflated = 8;

struct Directory {
  std::uint64_t begin = 0, entries = 0;
};

std::size_t find_end(const FileBytes& file) {
  const std::size_t size = file.bytes.size();
  if (size >= kEndSize) {
    const std::size_t first = size - std::min(size, kEndSize + kLongestComment);
    for (std::size_t at = size - kEndSize + 1; at-- > first;)
      if (ByteReader(file, "zip", at).number<std::uint32_t>() == kEnd) return at;
  }
  fail<DataError>(file.name, ": the zip archive has no directory: it is cut off");
}

Directory find_directory(const FileBytes& file) {
  const std::size_t end = find_end(file);
  ByteReader in(file, "zip directory", end + 8);
  Directory directory;
  in.number<std::uint16_t>();
  directory.entries = in.number<std::uint16_t>();
  in.number<std::uint32_t>();
  directory.begin = in.number<std::uint32_t>();
  if (end < kLocatorSize) return directory;
  ByteReader locator(file, "zip directory", end - kLocatorSize);
  if (locator.number<std::uint32_t>() != kLocator64) return directory;
  locator.number<std::uint32_t>();
  const auto place = locator.number<std::uint64_t>();
  if (place > file.bytes.size()) locator.wrong("the directory lies after the end of the file");
  ByteReader large(file, "zip directory", static_cast<std::size_t>(place));
  if (large.number<std::uint32_t>() != kEnd64) large.wrong("no directory here");
  large.take(8 + 2 + 2 + 4 + 4 + 8);
  directory.entries = large.number<std::uint64_t>();
  large.number<std::uint64_t>();
  directory.begin = large.number<std::uint64_t>();
  return directory;
}

/// Sizes that do not fit in 32 bits are in an extra field, in this order.
void read_zip64(ByteReader& in, std::span<const std::byte> extra, std::initializer_list<std::uint64_t*> large) {
  const FileBytes bytes{extra, "", nullptr};
  ByteReader fields(bytes, "extra field");
  while (fields.left() >= 4) {
    const auto id = fields.number<std::uint16_t>();
    const auto size = fields.number<std::uint16_t>();
    if (size > fields.left()) in.wrong("an extra field is longer than the rest");
    if (id != kZip64Extra) {
      fields.take(size);
      continue;
    }
    const std::size_t begin = fields.at();
    for (std::uint64_t* value : large) {
      if (*value != kSeeExtra) continue;
      if (fields.at() - begin + 8 > size) in.wrong("a size of 64 bits is missing");
      *value = fields.number<std::uint64_t>();
    }
    return;
  }
}

std::pair<std::string, ZipEntry> read_entry(ByteReader& in, const FileBytes& file) {
  if (in.number<std::uint32_t>() != kCentral) in.wrong("no entry here");
  in.number<std::uint32_t>();  // the versions
  const auto flags = in.number<std::uint16_t>(), method = in.number<std::uint16_t>();
  in.number<std::uint32_t>();  // the time
  ZipEntry entry;
  entry.crc = in.number<std::uint32_t>();
  entry.stored = in.number<std::uint32_t>();
  entry.size = in.number<std::uint32_t>();
  const auto name_size = in.number<std::uint16_t>(), extra_size = in.number<std::uint16_t>(),
             comment_size = in.number<std::uint16_t>();
  in.take(2 + 2 + 4);
  std::uint64_t local = in.number<std::uint32_t>();
  std::string name(in.text(name_size));
  read_zip64(in, in.take(extra_size), {&entry.size, &entry.stored, &local});
  in.take(comment_size);

  if (flags & kEncrypted) in.wrong("entry '", shown(name), "' is encrypted");
  if (method != kStored && method != kDeflated)
    in.wrong("entry '", shown(name), "' is compressed by method ", method, "; Kiln reads stored and deflated ones");
  entry.deflated = method == kDeflated;
  if (local > file.bytes.size()) in.wrong("entry '", shown(name), "' lies after the end of the file");
  ByteReader header(file, "zip entry", static_cast<std::size_t>(local));
  if (header.number<std::uint32_t>() != kLocal) header.wrong("entry '", shown(name), "' does not begin here");
  header.take(22);
  const auto local_name = header.number<std::uint16_t>(), local_extra = header.number<std::uint16_t>();
  header.take(static_cast<std::uint64_t>(local_name) + local_extra);
  entry.begin = header.at();
  if (entry.stored > header.left())
    header.wrong("entry '", shown(name), "' has ", entry.stored, " bytes, the file only ", header.left(), " more");
  const bool possible = entry.deflated ? entry.size / kMostInflation <= entry.stored : entry.size == entry.stored;
  if (!possible)
    header.wrong("entry '", shown(name), "' has ", entry.stored, " bytes, which are not ", entry.size,
                 entry.deflated ? " inflated" : "");
  return {std::move(name), entry};
}

// Entries that share bytes would let a small file expand into a huge one.
void check_overlap(const std::map<std::string, ZipEntry>& entries, const FileBytes& file) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
  for (const auto& [name, entry] : entries) places.emplace_back(entry.begin, entry.begin + entry.stored);
  std::sort(places.begin(), places.end());
  for (std::size_t i = 1; i < places.size(); ++i)
    require<DataError>(places[i - 1].second <= places[i].first, file.name, ": two entries of the zip archive overlap");
}

}  // namespace

bool is_zip(std::span<const std::byte> bytes) {
  const std::uint32_t magic[] = {kLocal, kEnd};
  return bytes.size() >= 4 &&
         (std::memcmp(bytes.data(), &magic[0], 4) == 0 || std::memcmp(bytes.data(), &magic[1], 4) == 0);
}

std::map<std::string, ZipEntry> read_zip(const FileBytes& file) {
  const Directory directory = find_directory(file);
  const std::size_t size = file.bytes.size();
  require<DataError>(directory.begin <= size && directory.entries <= (size - directory.begin) / kCentralSize, file.name,
                     ": a zip directory of ", directory.entries, " entries does not fit into the file");
  std::map<std::string, ZipEntry> entries;
  ByteReader in(file, "zip directory", static_cast<std::size_t>(directory.begin));
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    auto [place, fresh] = entries.insert(read_entry(in, file));
    if (!fresh) in.wrong("entry '", shown(place->first), "' occurs twice");
  }
  check_overlap(entries, file);
  return entries;
}

FileBytes zip_contents(const FileBytes& file, const std::string& name, const ZipEntry& entry, bool checked) {
  const auto bytes = file.bytes.subspan(entry.begin, static_cast<std::size_t>(entry.stored));
  FileBytes contents{bytes, text(file.name, ": '", shown(name), "'"), file.owner};
  if (entry.deflated) {
    const auto inflated = std::make_shared<const std::vector<std::byte>>(inflate(bytes, entry.size, contents.name));
    contents.bytes = *inflated;
    contents.owner = inflated;
  }
  if (entry.deflated || checked)
    require<DataError>(crc32_of(contents.bytes) == entry.crc, contents.name, ": damaged: its checksum differs");
  return contents;
}

FileBytes zip_beginning(const FileBytes& file, const std::string& name, const ZipEntry& entry, std::size_t count) {
  const auto bytes = file.bytes.subspan(entry.begin, static_cast<std::size_t>(entry.stored));
  FileBytes contents{bytes.first(std::min(bytes.size(), count)), text(file.name, ": '", shown(name), "'"), file.owner};
  if (entry.deflated) {
    const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(count, entry.size));
    const auto inflated = std::make_shared<const std::vector<std::byte>>(inflate_beginning(bytes, most, contents.name));
    contents.bytes = *inflated;
    contents.owner = inflated;
  }
  return contents;
}

}  // namespace kiln
