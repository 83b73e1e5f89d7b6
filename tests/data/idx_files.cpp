#include "tests/data/idx_files.hpp"

#include <fstream>
#include <numeric>
#include <span>

#include <zlib.h>

#include "kiln/core/error/error.hpp"

namespace kiln::test {

Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return Bytes(bytes.begin(), bytes.end());
}

Bytes idx_file(std::initializer_list<std::uint32_t> sizes, const std::vector<std::uint8_t>& values) {
  Bytes file = {std::byte{0}, std::byte{0}, std::byte{8}, static_cast<std::byte>(sizes.size())};
  for (const auto size : sizes)
    for (int shift = 24; shift >= 0; shift -= 8) file.push_back(static_cast<std::byte>(size >> shift));
  for (const auto value : values) file.push_back(std::byte{value});
  return file;
}

std::vector<std::uint8_t> counting(std::size_t count) {
  std::vector<std::uint8_t> values(count);
  std::iota(values.begin(), values.end(), std::uint8_t{0});
  return values;
}

Bytes gzipped(const Bytes& contents) {
  z_stream z{};
  constexpr int kGzip = 16, kMemory = 8;
  KILN_CHECK(deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, kGzip + MAX_WBITS, kMemory, Z_DEFAULT_STRATEGY) == Z_OK);
  Bytes file(deflateBound(&z, contents.size()) + 32);
  z.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(contents.data()));
  z.avail_in = static_cast<uInt>(contents.size());
  z.next_out = reinterpret_cast<Bytef*>(file.data());
  z.avail_out = static_cast<uInt>(file.size());
  KILN_CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END);
  file.resize(z.total_out);
  deflateEnd(&z);
  return file;
}

Bytes joined(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

void write_file(const std::filesystem::path& path, const Bytes& contents) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(contents.data()), static_cast<std::streamsize>(contents.size()));
  KILN_CHECK(file.good());
}

}  // namespace kiln::test
