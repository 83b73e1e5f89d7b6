// Zip archives whose entries are deflated, as zip programs and numpy.savez_compressed write them (PKWARE's APPNOTE 4.3).
#pragma once
#include <string>
#include <vector>

#include "kiln/store/format/byte_reader.hpp"
#include "kiln/store/zip/deflate.hpp"
#include "kiln/store/zip/zip_reader.hpp"

#include "samples.hpp"

namespace kiln {

/// The entries of an archive of stored ones.
inline std::vector<std::byte> deflated(const std::vector<std::byte>& archive) {
  const FileBytes file = in_memory(archive, "archive");
  std::string out, directory;
  std::uint16_t count = 0;
  for (const auto& [name, entry] : read_zip(file)) {
    const std::vector<std::byte> small =
        deflate(file.bytes.subspan(entry.begin, static_cast<std::size_t>(entry.stored)));
    std::string common;
    append_number(common, std::uint16_t{20});  // version
    append_number(common, std::uint16_t{0});   // flags
    append_number(common, std::uint16_t{8});   // deflate
    append_number(common, std::uint32_t{0x00210000});
    append_number(common, entry.crc);
    append_number(common, static_cast<std::uint32_t>(small.size()));
    append_number(common, static_cast<std::uint32_t>(entry.size));
    append_number(common, static_cast<std::uint16_t>(name.size()));
    append_number(common, std::uint16_t{0});  // extra
    directory += "PK\x01\x02";
    append_number(directory, std::uint16_t{20});
    directory += common + std::string(10, '\0');  // comment, disk, attributes
    append_number(directory, static_cast<std::uint32_t>(out.size()));
    directory += name;
    out.append("PK\x03\x04").append(common).append(name);
    out.append(reinterpret_cast<const char*>(small.data()), small.size());
    ++count;
  }
  std::string end = "PK\x05\x06";
  append_number(end, std::uint32_t{0});
  append_number(end, count);
  append_number(end, count);
  append_number(end, static_cast<std::uint32_t>(directory.size()));
  append_number(end, static_cast<std::uint32_t>(out.size()));
  append_number(end, std::uint16_t{0});
  return bytes_of(out + directory + end);
}

}  // namespace kiln
