#include "kiln/store/zip/zip_writer.hpp"

#include <algorithm>

#include "kiln/store/format/byte_reader.hpp"
#include "kiln/store/zip/deflate.hpp"

namespace kiln {
namespace {

// kPaddingExtra is the id of the extra field with which PyTorch pads.
constexpr std::uint16_t kVersion = 20, kVersion64 = 45, kUtf8 = 1 << 11, kPaddingExtra = 0x4246;
constexpr std::uint32_t kNewYear1980 = 0x00210000, kSeeExtra = 0xffffffff;
constexpr std::uint64_t kAlign = 64, kLocalSize = 30;

std::uint32_t low(std::uint64_t size) { return size < kSeeExtra ? static_cast<std::uint32_t>(size) : kSeeExtra; }

/// Appends what local and central headers have in common; `extra` is the size of the extra field.
void append_head(std::string& out, std::uint64_t size, std::uint32_t crc, std::size_t name, std::size_t extra) {
  append_number(out, size < kSeeExtra ? kVersion : kVersion64);
  append_number(out, kUtf8);
  append_number(out, std::uint16_t{0});  // stored, not compressed
  append_number(out, kNewYear1980);      // a fixed date, so that the same contents give the same bytes
  append_number(out, crc);
  append_number(out, low(size));
  append_number(out, low(size));
  append_number(out, static_cast<std::uint16_t>(name));
  append_number(out, static_cast<std::uint16_t>(extra));
}

std::string extra64(std::uint64_t size, std::uint64_t begin) {
  std::string sizes;
  if (size >= kSeeExtra) append_number(sizes, size), append_number(sizes, size);
  if (begin >= kSeeExtra) append_number(sizes, begin);
  std::string out;
  if (sizes.empty()) return out;
  append_number(out, std::uint16_t{1});
  append_number(out, static_cast<std::uint16_t>(sizes.size()));
  return out + sizes;
}

}  // namespace

void ZipWriter::put(std::string_view bytes) {
  sink_(std::as_bytes(std::span(bytes)));
  at_ += bytes.size();
}

void ZipWriter::add(std::string_view name, std::span<const std::byte> head, std::span<const std::byte> rest) {
  require<ArgumentError>(name.size() < 1 << 15, "a zip archive holds no name of ", name.size(), " bytes");
  const std::uint64_t size = head.size() + rest.size(), begin = at_;
  const std::uint32_t crc = crc32_of(rest, crc32_of(head));
  std::string extra = extra64(size, 0);
  const std::uint64_t unpadded = begin + kLocalSize + name.size() + extra.size() + 4;
  const std::uint64_t padding = (kAlign - unpadded % kAlign) % kAlign;
  append_number(extra, kPaddingExtra);
  append_number(extra, static_cast<std::uint16_t>(padding));
  extra.append(static_cast<std::size_t>(padding), 'Z');

  std::string header = "PK\x03\x04";
  append_head(header, size, crc, name.size(), extra.size());
  put(header.append(name) + extra);
  sink_(head);
  if (!rest.empty()) sink_(rest);
  at_ += size;
  written_.push_back({std::string(name), begin, size, crc});
}

void ZipWriter::finish() {
  const std::uint64_t directory = at_, count = written_.size();
  for (const auto& [name, begin, size, crc] : written_) {
    const std::string extra = extra64(size, begin);
    std::string header = "PK\x01\x02";
    append_number(header, kVersion64);
    append_head(header, size, crc, name.size(), extra.size());
    header.append(10, '\0');  // no comment, one disk, no attributes
    append_number(header, low(begin));
    put(header.append(name).append(extra));
  }
  const std::uint64_t length = at_ - directory;
  if (count >= 0xffff || directory + length >= kSeeExtra) {
    const std::uint64_t place = at_;
    std::string end = "PK\x06\x06";
    append_number(end, std::uint64_t{44});
    append_number(end, kVersion64), append_number(end, kVersion64);
    append_number(end, std::uint64_t{0});  // one disk
    append_number(end, count), append_number(end, count);
    append_number(end, length), append_number(end, directory);
    end += "PK\x06\x07";
    append_number(end, std::uint32_t{0});
    append_number(end, place);
    append_number(end, std::uint32_t{1});
    put(end);
  }
  std::string end = "PK\x05\x06";
  append_number(end, std::uint32_t{0});
  for (int i = 0; i < 2; ++i) append_number(end, static_cast<std::uint16_t>(std::min<std::uint64_t>(count, 0xffff)));
  append_number(end, low(length));
  append_number(end, low(directory));
  append_number(end, std::uint16_t{0});
  put(end);
}

}  // namespace kiln
