#include "kiln/data/compose/item_file.hpp"

#include <zlib.h>

#include <array>
#include <cstring>
#include <string_view>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/memory_error.hpp"
#include "kiln/core/file.hpp"

namespace kiln {
namespace {

constexpr std::string_view kMagic = "kilnitem";
constexpr std::size_t kHeader = 16, kChecksum = 4;

template <std::size_t kBytes>
std::uint64_t number_at(std::span<const std::byte> bytes, std::size_t at) {
  std::uint64_t number = 0;
  for (std::size_t i = kBytes; i-- > 0;) number = number << 8 | std::to_integer<std::uint64_t>(bytes[at + i]);
  return number;
}

template <std::size_t kBytes>
std::array<std::byte, kBytes> bytes_of(std::uint64_t number) {
  std::array<std::byte, kBytes> bytes;
  for (std::size_t i = 0; i < kBytes; ++i) bytes[i] = static_cast<std::byte>(number >> 8 * i);
  return bytes;
}

std::uint64_t checksum(std::span<const std::byte> bytes) {
  return crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
}

}  // namespace

ItemFile::ItemFile(FileBytes file) try : file_(std::move(file)) {
  const auto bytes = file_.bytes;
  require<DataError>(bytes.size() >= kHeader + 16 && std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0,
                     file_.name, ": is no file of items");
  fingerprint_ = number_at<8>(bytes, 8);
  const std::uint64_t count = number_at<8>(bytes, bytes.size() - 8), room = (bytes.size() - kHeader - 16) / 8;
  require<DataError>(count <= room, file_.name, ": is damaged: it claims ", count, " items");
  count_ = static_cast<std::int64_t>(count);
  index_ = bytes.size() - 8 * (count + 2);
  std::uint64_t last = kHeader;
  for (std::int64_t i = 0; i <= count_; ++i) {
    const std::uint64_t next = offset(i);
    require<DataError>(i == 0 ? next == kHeader : next >= last + kChecksum && next <= index_, file_.name,
                       ": is damaged: item ", i, " lies at byte ", next);
    last = next;
  }
  require<DataError>(last == index_, file_.name, ": is damaged: ", index_, " bytes hold what needs ", last);
} catch (...) { rethrow_as_memory_error("a file of items"); }

std::uint64_t ItemFile::offset(std::int64_t index) const {
  return number_at<8>(file_.bytes, static_cast<std::size_t>(index_) + 8 * static_cast<std::size_t>(index));
}

std::span<const std::byte> ItemFile::at(std::int64_t index) const {
  const std::uint64_t first = offset(index);
  const auto item = file_.bytes.subspan(first + kChecksum, offset(index + 1) - first - kChecksum);
  require<DataError>(checksum(item) == number_at<kChecksum>(file_.bytes, first), file_.name, ": item ", index,
                     " is damaged: its checksum differs");
  return item;
}

void write_items(const std::string& path, std::uint64_t fingerprint, std::int64_t count,
                 FunctionRef<std::vector<std::byte>(std::int64_t)> item) try {
  FileReplacement file(path);
  file.write(kMagic);
  file.write(bytes_of<8>(fingerprint));
  std::vector<std::uint64_t> offsets = {kHeader};
  for (std::int64_t i = 0; i < count; ++i) {
    const std::vector<std::byte> bytes = item(i);
    file.write(bytes_of<kChecksum>(checksum(bytes)));
    file.write(bytes);
    offsets.push_back(offsets.back() + kChecksum + bytes.size());
  }
  for (const auto offset : offsets) file.write(bytes_of<8>(offset));
  file.write(bytes_of<8>(static_cast<std::uint64_t>(count)));
  file.commit();
} catch (...) { rethrow_as_memory_error(path); }

}  // namespace kiln
