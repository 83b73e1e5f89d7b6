#include "kiln/data/tar.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>

#include "kiln/core/error/memory_error.hpp"
#include "kiln/core/error/shown.hpp"

namespace kiln {
namespace {

constexpr std::size_t kBlock = 512;

/// A field of a header, up to its first zero byte.
std::string_view field(std::string_view header, std::size_t at, std::size_t size) {
  const std::string_view all = header.substr(at, size);
  return all.substr(0, all.find('\0'));
}

/// Octal digits, or, after a byte 0x80, a binary number; false for anything else.
bool read_number(std::string_view bytes, std::uint64_t& number) {
  number = 0;
  if (bytes[0] == '\x80') {
    for (const char c : bytes.substr(1)) {
      if (number >> 55) return false;
      number = number << 8 | static_cast<unsigned char>(c);
    }
    return true;
  }
  bytes = bytes.substr(0, bytes.find('\0'));
  const std::size_t first = bytes.find_first_not_of(' ');
  if (first == std::string_view::npos) return true;
  const std::size_t end = bytes.find_last_not_of(' ') + 1;
  const auto [stop, problem] = std::from_chars(bytes.data() + first, bytes.data() + end, number, 8);
  return problem == std::errc() && stop == bytes.data() + end;
}

/// The sum over all bytes, with those of the checksum taken as spaces.
bool checksum_holds(std::string_view header) {
  std::uint64_t expected = 0, sum = 0;
  for (std::size_t i = 0; i < kBlock; ++i) sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(header[i]);
  return read_number(header.substr(148, 8), expected) && sum == expected;
}

/// The "path" in a pax header's records, "LENGTH path=NAME\n"; empty if there is none.
std::string pax_path(std::string_view records) {
  while (!records.empty()) {
    std::size_t length = 0;
    const auto [end, problem] = std::from_chars(records.data(), records.data() + records.size(), length);
    const auto digits = static_cast<std::size_t>(end - records.data());
    if (problem != std::errc() || length <= digits + 1 || length > records.size()) return "";
    const std::string_view record = records.substr(digits + 1, length - digits - 2);
    if (record.starts_with("path=")) return std::string(record.substr(5));
    records.remove_prefix(length);
  }
  return "";
}

}  // namespace

std::vector<TarEntry> read_tar(const FileBytes& archive) try {
  const std::string_view all(reinterpret_cast<const char*>(archive.bytes.data()), archive.bytes.size());
  std::vector<TarEntry> entries;
  std::string long_name;
  for (std::size_t at = 0; at < all.size();) {
    require<DataError>(all.size() - at >= kBlock, archive.name, ": is not a tar file, or cut off: ", all.size() - at,
                       " bytes are left where a header should be");
    const std::string_view header = all.substr(at, kBlock);
    if (header.find_first_not_of('\0') == std::string_view::npos) break;  // the end of an archive
    require<DataError>(checksum_holds(header), archive.name, ": is not a tar file, or damaged: the header at byte ", at,
                       " has a wrong checksum");
    std::uint64_t size = 0;
    require<DataError>(read_number(header.substr(124, 12), size) && size <= all.size() - at - kBlock, archive.name,
                       ": is damaged or cut off: the file at byte ", at, " does not end in it");
    const std::string_view contents = all.substr(at + kBlock, size);
    const char kind = header[156];
    if (kind == 'L') {
      long_name = contents.substr(0, contents.find('\0'));
    } else if (kind == 'x') {
      long_name = pax_path(contents);
    } else {
      std::string name = std::move(long_name);
      long_name.clear();
      if (name.empty()) {
        const std::string_view prefix =
            header.substr(257, 5) == "ustar" && header[262] == '\0' ? field(header, 345, 155) : "";
        name = text(prefix, prefix.empty() ? "" : "/", field(header, 0, 100));
      }
      if (kind == '0' || kind == '\0') entries.push_back({std::move(name), archive.bytes.subspan(at + kBlock, size)});
    }
    const std::uint64_t whole_blocks = (size + kBlock - 1) / kBlock * kBlock, left = all.size() - at - kBlock;
    at += kBlock + static_cast<std::size_t>(std::min(whole_blocks, left));
  }
  return entries;
} catch (...) { rethrow_as_memory_error(archive.name); }

std::span<const std::byte> TarSample::part(const std::string& ending) const {
  const auto found = parts.find(ending);
  require<DataError>(found != parts.end(), "sample '", shown(key), "' has no part '", shown(ending), "'");
  return found->second;
}

namespace {

std::vector<FileBytes> map_files(const std::vector<std::string>& paths) try {
  std::vector<FileBytes> files;
  std::ranges::transform(paths, std::back_inserter(files), map_file);
  return files;
} catch (...) { rethrow_as_memory_error("tar"); }

}  // namespace

TarSamples::TarSamples(const std::vector<std::string>& shards) : TarSamples(map_files(shards)) {}

TarSamples::TarSamples(std::vector<FileBytes> shards) try : shards_(std::move(shards)) {
  for (const FileBytes& shard : shards_) {
    bool begun = false;  // a sample does not continue in the next archive
    for (const TarEntry& entry : read_tar(shard)) {
      const std::size_t name = entry.name.rfind('/') + 1, dot = entry.name.find('.', name);
      if (dot == std::string::npos || dot == name) continue;  // no extension, or hidden
      const std::string key = entry.name.substr(0, dot);
      if (!begun || samples_.back().key != key) samples_.push_back({key, {}});
      begun = true;
      const bool added = samples_.back().parts.emplace(entry.name.substr(dot + 1), entry.bytes).second;
      require<DataError>(added, shard.name, ": sample '", shown(key), "' has two parts '",
                         shown(entry.name.substr(dot + 1)), "'");
    }
  }
} catch (...) { rethrow_as_memory_error("tar"); }

}  // namespace kiln
